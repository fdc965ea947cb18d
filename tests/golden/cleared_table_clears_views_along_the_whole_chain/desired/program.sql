CREATE TABLE orders (
    id BIGINT NOT NULL PRIMARY KEY,
    amount DECIMAL(10,2)
);

CREATE VIEW large AS
SELECT id, amount
FROM orders
WHERE amount > 1000;

CREATE MATERIALIZED VIEW large_per_size AS
SELECT amount, COUNT(*) AS n
FROM large
GROUP BY amount;

CREATE MATERIALIZED VIEW sizes AS
SELECT COUNT(*) AS n
FROM large_per_size;
