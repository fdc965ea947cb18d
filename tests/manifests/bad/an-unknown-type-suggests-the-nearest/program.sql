CREATE TABLE orders (
  id BIGNIT
);
