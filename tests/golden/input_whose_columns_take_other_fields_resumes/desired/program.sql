CREATE TABLE orders (
    id BIGINT NOT NULL,
    customer STRING,
    amount DECIMAL(10,2),
    note STRING
);

CREATE MATERIALIZED VIEW notes AS
SELECT id, note
FROM orders;

CREATE MATERIALIZED VIEW revenue AS
SELECT customer, SUM(amount) AS total
FROM orders
GROUP BY customer;
