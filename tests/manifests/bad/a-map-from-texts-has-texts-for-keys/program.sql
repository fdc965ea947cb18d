CREATE TABLE events (id BIGINT, m MAP<INT, STRING>) WITH ('connectors' = '[
  {"name": "a", "transport": {"name": "file_input", "config": {"path": "in"}}, "format": {"name": "json"}},
  {"name": "b", "transport": {"name": "file_input", "config": {"path": "in"}}, "format": {"name": "parquet"}},
  {"name": "c", "transport": {"name": "delta_table_input", "config": {"uri": "in", "mode": "snapshot"}}}
]');
CREATE TABLE deeper (s STRUCT<a: ARRAY<MAP<DATE, INT>>>) WITH ('connectors' = '[
  {"name": "d", "transport": {"name": "file_input", "config": {"path": "in"}}, "format": {"name": "csv"}}
]');
CREATE TABLE texts (m MAP<VARCHAR(3), MAP<CHAR(2), MAP<STRING, INT>>>, map STRUCT<map: INT>) WITH ('connectors' = '[
  {"name": "e", "transport": {"name": "file_input", "config": {"path": "in"}}, "format": {"name": "json"}}
]');
