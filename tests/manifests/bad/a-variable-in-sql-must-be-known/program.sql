CREATE TABLE orders (id BIGINT, customer STRING) WITH (
  'connectors' = '[{"transport": {"name": "file_input", "config": {"path": "${var:lake}"}}, "format": {"name": "json"}}]'
);
