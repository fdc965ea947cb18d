"""The bottom: names, keys, digests, diagnostics with their codes, errors, what is secret, what pipelines declare.

For: words and values that every other package uses. It imports nothing of reconciler's other packages, and neither Spark nor
Delta. What a declaration means is for `project` to say, what a difference means for `diff`.
"""
