CREATE TABLE orders (
  id BIGINT,
  ID STRING
);
