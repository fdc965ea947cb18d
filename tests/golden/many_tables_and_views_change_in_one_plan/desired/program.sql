CREATE TABLE orders (
    id BIGINT NOT NULL,
    amount DECIMAL(10,2),
    channel STRING
);

CREATE TABLE visits (
    at TIMESTAMP,
    page STRING,
    agent STRING
);

CREATE MATERIALIZED VIEW revenue AS
SELECT SUM(amount) AS total
FROM orders;

CREATE MATERIALIZED VIEW pages AS
SELECT page, COUNT(*) AS n
FROM visits
GROUP BY page;

CREATE MATERIALIZED VIEW per_channel AS
SELECT channel, SUM(amount) AS total
FROM orders
GROUP BY channel;
