CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, amount DECIMAL(10, 2));
CREATE VIEW sums AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW large AS SELECT customer FROM sums WHERE total > 100;
