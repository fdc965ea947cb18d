"""Files become what is desired, with everything that the files do not say themselves.

For: a pipeline's files compiled (`desired`); other pipelines' relations looked up on the way (`foreign`); versions that are
pinned, held back or kept up to date put in place. It reads the registry and writes nothing.
"""
