CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE TABLE customers (name STRING NOT NULL PRIMARY KEY, country STRING);
CREATE MATERIALIZED VIEW v AS
SELECT o.id, c.country
FROM orders AS o JOIN customers AS c ON o.customer >= c.name;
