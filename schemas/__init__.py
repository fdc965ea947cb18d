"""JSON Schemas, Draft 2020-12; an installed package holds them as `reconciler.schemas`. See
reconciler/base/schema_files.py."""
