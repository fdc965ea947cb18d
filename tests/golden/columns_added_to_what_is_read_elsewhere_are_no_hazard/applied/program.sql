CREATE TABLE orders (id BIGINT, customer STRING, price INT);
CREATE MATERIALIZED VIEW revenue AS SELECT customer, SUM(price) AS revenue FROM orders GROUP BY customer;
