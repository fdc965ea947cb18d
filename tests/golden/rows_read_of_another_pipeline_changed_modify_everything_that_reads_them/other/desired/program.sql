CREATE TABLE orders (id BIGINT, customer STRING, price BIGINT);
CREATE MATERIALIZED VIEW revenue AS SELECT customer, SUM(price) AS total, COUNT(*) AS number FROM orders GROUP BY customer;
