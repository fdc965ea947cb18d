CREATE TABLE orders (
    id BIGINT NOT NULL,
    customer STRING DEFAULT 'nobody',
    amount DECIMAL(10,2)
);

CREATE MATERIALIZED VIEW revenue AS
SELECT customer, SUM(amount) AS total
FROM orders
GROUP BY customer;
