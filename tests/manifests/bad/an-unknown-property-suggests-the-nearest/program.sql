CREATE TABLE orders (id BIGINT) WITH (
  'materialised' = 'true'
);
