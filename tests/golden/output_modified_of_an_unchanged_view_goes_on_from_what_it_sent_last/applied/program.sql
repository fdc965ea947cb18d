CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE MATERIALIZED VIEW sums AS
SELECT customer, sum(amount) AS total
FROM orders
WHERE amount > 10
GROUP BY customer;
