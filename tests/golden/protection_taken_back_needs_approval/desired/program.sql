CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE TABLE customers (name STRING NOT NULL PRIMARY KEY, country STRING);
CREATE MATERIALIZED VIEW sums AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer;
