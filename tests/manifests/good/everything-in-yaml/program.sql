CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, price DECIMAL(15, 2));

CREATE MATERIALIZED VIEW revenue AS
SELECT customer, sum(price) AS revenue FROM orders GROUP BY customer;
