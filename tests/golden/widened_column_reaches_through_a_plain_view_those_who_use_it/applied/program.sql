CREATE TABLE orders (
    id BIGINT NOT NULL,
    amount DECIMAL(10,2),
    note STRING
);

CREATE VIEW cleaned AS
SELECT id, amount, TRIM(note) AS note
FROM orders
WHERE id > 0;

CREATE MATERIALIZED VIEW large AS
SELECT id, amount
FROM cleaned
WHERE amount > 1000;

CREATE MATERIALIZED VIEW remarks AS
SELECT id, note
FROM cleaned;
