"""Explanations of pipelines and relations: see `make`."""
