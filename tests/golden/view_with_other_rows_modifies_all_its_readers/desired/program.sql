CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE MATERIALIZED VIEW large AS
SELECT id, customer, amount
FROM orders
WHERE amount > 200;
CREATE MATERIALIZED VIEW totals AS SELECT sum(amount) AS total FROM large;
CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS orders FROM large;
