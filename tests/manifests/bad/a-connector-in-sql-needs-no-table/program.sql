CREATE TABLE orders (id BIGINT, customer STRING) WITH (
  'connectors' = '[{"name": "a", "table": "orders", "transport": {"name": "file_input", "config": {"path": "in"}}, "format": {"name": "json"}}]'
);
