CREATE TABLE orders (
    id BIGINT NOT NULL,
    amount DECIMAL(10,2)
);

CREATE TABLE clicks (
    at TIMESTAMP,
    page STRING
);

CREATE MATERIALIZED VIEW revenue AS
SELECT SUM(amount) AS total
FROM orders;

CREATE MATERIALIZED VIEW pages AS
SELECT page, COUNT(*) AS n
FROM clicks
GROUP BY page;
