CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE MATERIALIZED VIEW priced AS
SELECT id, customer, amount * 1.19 AS gross
FROM orders;
CREATE MATERIALIZED VIEW totals AS SELECT sum(gross) AS total FROM priced;
CREATE MATERIALIZED VIEW customers AS SELECT DISTINCT customer FROM priced;
