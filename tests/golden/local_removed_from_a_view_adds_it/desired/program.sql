CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE VIEW v AS SELECT customer, amount FROM orders;
CREATE MATERIALIZED VIEW totals AS SELECT customer, sum(amount) AS total FROM v GROUP BY customer;
