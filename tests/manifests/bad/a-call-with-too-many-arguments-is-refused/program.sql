CREATE TABLE orders (
  id BIGINT NOT NULL PRIMARY KEY,
  customer STRING,
  placed DATE,
  paid BOOLEAN,
  total DECIMAL(15, 2)
);
CREATE VIEW v AS SELECT round(total, 1, 2) AS r FROM orders;
