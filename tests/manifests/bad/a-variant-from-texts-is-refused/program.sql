CREATE TABLE events (id BIGINT, v VARIANT, all_of_them ARRAY<STRUCT<a: VARIANT>>) WITH ('connectors' = '[
  {"name": "a", "transport": {"name": "file_input", "config": {"path": "in"}}, "format": {"name": "json"}},
  {"name": "b", "transport": {"name": "delta_table_input", "config": {"uri": "in", "mode": "snapshot"}}}
]');
CREATE TABLE named (variant STRING, s STRUCT<variant: INT>) WITH ('connectors' = '[
  {"name": "c", "transport": {"name": "file_input", "config": {"path": "in"}}, "format": {"name": "json"}}
]');
