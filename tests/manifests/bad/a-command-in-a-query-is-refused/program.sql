CREATE TABLE orders (
  id BIGINT NOT NULL PRIMARY KEY,
  customer STRING
);
CREATE VIEW v AS SELECT TRANSFORM(id) USING 'touch /tmp/x' AS (x) FROM orders;
