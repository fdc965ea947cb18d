"""Where a pipeline is planned and applied: the environment with its warehouse, git, policies, the cache.

For: one environment of a repository (`target`), the files of its working tree (`source`), what git says of them
(`repository`, `commits`, `merged`, `bases`, `homes`), the policy in force (`policies`), compiled objects that are kept
between commands (`cache_store`). It knows no pipeline's state.
"""
