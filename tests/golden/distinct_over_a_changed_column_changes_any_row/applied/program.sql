CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE VIEW v AS
SELECT id, customer, amount * 2 AS x
FROM orders;
CREATE MATERIALIZED VIEW unique AS SELECT DISTINCT customer, x FROM v;
CREATE MATERIALIZED VIEW counted AS SELECT customer, count(*) AS n FROM unique GROUP BY customer;
CREATE MATERIALIZED VIEW spared AS SELECT id, customer FROM v;
