CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING) WITH (
  'materialized' = 'true',
  'connectors' = '[
    {"name": "first", "labels": ["one"], "transport": {"name": "file_input", "config": {"path": "it''s"}},
     "format": {"name": "csv", "config": {"null_value": "''"}}}
  ]'
);
CREATE MATERIALIZED VIEW totals AS SELECT customer, count(*) AS orders FROM orders GROUP BY customer;
