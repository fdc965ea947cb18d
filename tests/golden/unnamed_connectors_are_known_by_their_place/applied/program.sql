CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, amount DECIMAL(10, 2)) WITH ('connectors' = '[
  {"transport": {"name": "file_input", "config": {"path": "in/live"}}, "format": {"name": "json"}}
]');
