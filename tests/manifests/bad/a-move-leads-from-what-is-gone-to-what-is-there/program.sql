CREATE TABLE orders (id BIGINT, customer STRING);
CREATE MATERIALIZED VIEW totals AS SELECT customer, count(*) AS n FROM orders GROUP BY customer;
