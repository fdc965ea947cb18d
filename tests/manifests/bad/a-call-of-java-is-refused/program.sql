CREATE TABLE orders (
  id BIGINT NOT NULL PRIMARY KEY,
  customer STRING
);
CREATE VIEW v AS SELECT java_method('java.lang.System', 'exit', 0) AS x FROM orders;
