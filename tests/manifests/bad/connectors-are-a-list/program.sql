CREATE TABLE orders (id BIGINT) WITH (
  'connectors' = '{"name": "a"}'
);
