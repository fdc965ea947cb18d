CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING);
CREATE MATERIALIZED VIEW totals AS SELECT customer, count(*) AS orders FROM orders GROUP BY customer;
