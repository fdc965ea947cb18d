CREATE TABLE orders (
    id BIGINT NOT NULL,
    state STRING COMMENT 'one of new, paid',
    placed TIMESTAMP
);

CREATE MATERIALIZED VIEW states AS
SELECT state, COUNT(*) AS n
FROM orders
GROUP BY state;
