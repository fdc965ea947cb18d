CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE VIEW v AS
SELECT id, customer, amount * 3 AS x
FROM orders;
CREATE MATERIALIZED VIEW pivoted AS SELECT * FROM v PIVOT (sum(id) FOR customer IN ('a', 'b'));
CREATE MATERIALIZED VIEW spared AS SELECT id, customer FROM v;
