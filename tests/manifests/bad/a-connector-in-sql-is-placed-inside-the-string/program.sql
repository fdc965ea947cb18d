CREATE TABLE orders (id BIGINT, customer STRING) WITH (
  'connectors' = '[
    {"name": "a", "transport": {"name": "delta_table_input",
      "config": {"uri": "/it''s", "mod": "x",
                 "mode": "snap"}}}
  ]'
);
