CREATE TABLE orders (
  total DECIMAL(39, 2)
);
