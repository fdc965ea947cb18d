"""A project's text: files become a manifest, a manifest becomes a program, a program becomes a snapshot.

`manifest` reads YAML and SQL, `program` resolves names into a graph, `snapshot` says what counts as the same and holds the
form that the registry stores. All of it is pure. Other pipelines and what was applied are for `workspace` to look up.
"""
