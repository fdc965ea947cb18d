CREATE TABLE orders (
    id BIGINT NOT NULL,
    customer STRING,
    amount DECIMAL(10,2),
    remark STRING
);

CREATE MATERIALIZED VIEW notes AS
SELECT id, remark AS note
FROM orders;

CREATE MATERIALIZED VIEW revenue AS
SELECT customer, SUM(amount) AS total
FROM orders
GROUP BY customer;
