CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, amount DECIMAL(10, 2));
CREATE VIEW sums AS SELECT customer, sum(amount) AS total, rand() AS chance FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW large AS SELECT customer FROM sums WHERE chance > 0.5;
CREATE MATERIALIZED VIEW known AS SELECT total FROM sums;
