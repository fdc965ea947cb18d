"""The service over HTTP: the API under /v0, which Feldera's Python client speaks.

    client ──HTTP──► service ──socket──► server ──fork──► a process that applies and runs a pipeline, or queries
                       │
                       └── files of the repository (pipelines that are made here), registry (what was asked for)

- `descriptions`: pipelines that are made here, as files of the repository.
- `compilation`: what the files mean, in the client's form; `column_types` has its types.
- `previews`: programs that are only looked at.
- `deployments`: what is wished of a pipeline, and the process that carries it out.
- `shown_diff`: what a plan changes, as the client is told it.
- `work`: what the processes do that the server forks for the service; `processes`: work that a request waits for.
- `pipeline_json`: a pipeline as the client knows it; `shared`: what all requests share.
- `answers`: the rows of a query in each form.
- `requests`: rows that come over HTTP; `fitting` says which surely are none of a table, `refused_rows` counts those.
- `transactions`: rows that are read in one step.
- `changes`: rows that changed, for whoever listens.
- `statistics`: figures of pipelines and connectors; `metrics`: the same as metrics, by the client's names.
- `configuration`: what the client may say of how a pipeline runs; `addresses`: relations as addresses name them.
- `errors`: what the client is told of an error.
- `access`: who may do what; `door`: who is let in, and as whom.
- `pages`: one module for each kind of request; `console`: pages for people; `application` puts them together, `serving`
  listens.

The process has no Spark, and carries nothing out that takes long. It can be killed at any moment: what was wished
stands in the registry, and is taken up again by the next one.
"""
