CREATE TABLE orders (id BIGINT) WITH (
  'materialized' = 'yes'
);
