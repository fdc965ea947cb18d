CREATE TABLE orders (
    id BIGINT NOT NULL,
    amount DECIMAL(10,2)
);

CREATE MATERIALIZED VIEW revenue AS
SELECT SUM(amount) AS total
FROM orders;
