CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE MATERIALIZED VIEW first AS
SELECT id, customer, amount
FROM orders
WHERE amount >= 10;
CREATE VIEW middle AS SELECT customer, amount * 2 AS doubled FROM first;
CREATE MATERIALIZED VIEW last AS SELECT customer, sum(doubled) AS total FROM middle GROUP BY customer;
