CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, amount DECIMAL(10, 2)) WITH ('connectors' = '[
  {"name": "history", "transport": {"name": "file_input", "config": {"path": "in/history"}}, "format": {"name": "json"}},
  {"name": "live", "transport": {"name": "file_input", "config": {"path": "in/live"}}, "format": {"name": "json"}}
]');
