"""JSON Schemas, Draft 2020-12; an installed package holds them as `reconciler.schemas`. See reconciler/schema_files.py."""
