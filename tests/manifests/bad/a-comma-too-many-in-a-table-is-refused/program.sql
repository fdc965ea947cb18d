CREATE TABLE orders (
  id BIGINT,
);
