CREATE TABLE orders (
  id BIGINT NOT NULL PRIMARY KEY,
  customer STRING
);
CREATE VIEW v AS SELECT from_xml(customer, 'a INT', map('rowValidationXSDPath', '/etc/passwd')) AS x FROM orders;
