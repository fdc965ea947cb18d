CREATE TABLE orders (id BIGINT, customer STRING, price INT, note STRING);
CREATE MATERIALIZED VIEW revenue AS SELECT customer, SUM(price) AS revenue, COUNT(*) AS orders FROM orders GROUP BY customer;
