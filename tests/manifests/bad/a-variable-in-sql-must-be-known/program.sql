CREATE TABLE orders (id BIGINT, customer STRING) WITH (
  'connectors' = '[{"name": "a", "transport": {"name": "file_input", "config": {"path": "${var:lake}"}}, "format": {"name": "json"}}]'
);
