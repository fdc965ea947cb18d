CREATE TABLE orders (
    id BIGINT NOT NULL PRIMARY KEY,
    net DECIMAL(10,2),
    gross DECIMAL(10,2)
);

CREATE MATERIALIZED VIEW taxes AS
SELECT orders.gross - orders.net AS tax
FROM orders;

CREATE MATERIALIZED VIEW earned AS
SELECT id, net
FROM orders;

CREATE MATERIALIZED VIEW how_many AS
SELECT COUNT(*) AS n
FROM orders;
