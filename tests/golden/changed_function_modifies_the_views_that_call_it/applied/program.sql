CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, total DECIMAL(10, 2));
CREATE FUNCTION tax(amount DECIMAL(10, 2)) RETURNS DECIMAL(10, 2) AS amount * 0.19;
CREATE FUNCTION gross(amount DECIMAL(10, 2)) RETURNS DECIMAL(10, 2) AS amount + tax(amount);
CREATE FUNCTION half(amount DECIMAL(10, 2)) RETURNS DECIMAL(10, 2) AS amount / 2;
CREATE VIEW priced AS SELECT id, gross(total) AS price FROM orders;
CREATE MATERIALIZED VIEW prices AS SELECT id, price FROM priced;
CREATE MATERIALIZED VIEW halves AS SELECT id, half(total) AS half FROM orders;
CREATE MATERIALIZED VIEW taxes AS SELECT sum(tax(total)) AS taxes FROM orders;
