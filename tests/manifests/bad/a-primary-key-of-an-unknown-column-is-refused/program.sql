CREATE TABLE orders (
  id BIGINT,
  PRIMARY KEY (di)
);
