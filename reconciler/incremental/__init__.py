"""How views follow what changes in the relations that they read, by work in proportion to the change: decided from a view's
query and the columns of what it reads, without Spark.

`derive.maintenance` says how a view is maintained: `KeptAggregate` (its groups are kept, and changed rows are added to them
or taken from them), `LinearRows` (rows are added to the view and taken out of it), `ChangedGroups` (groups and partitions of
which rows changed are computed anew), or `Recompute`, with the operator that has no rule. Each method has a module that
names where its rule comes from, and gives the queries that it is carried out by: over changed rows, as
`engine.sources.StoredSource` has them, and over what is kept. `choice` says by sizes whether a method pays.

What a method gives is what the query gives over the relations as they are, as a multiset, always. Where that is not
certain for a query, it has no method; where it is not certain for the rows that are there (a sum may overflow on the way),
the queries fail, and whoever runs them computes the view from its query.

Not here: where changed rows are read, where what is kept stands (`materialize.kept_groups`), and how rows are taken out of a
table (`engine.arrow.row_changes`).
"""
