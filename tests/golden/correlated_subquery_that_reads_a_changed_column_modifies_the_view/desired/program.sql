CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE VIEW v AS
SELECT id, customer, amount * 3 AS x
FROM orders;
CREATE MATERIALIZED VIEW above AS SELECT o.id FROM orders AS o WHERE o.amount > (SELECT avg(v.x) FROM v WHERE v.customer = o.customer);
CREATE MATERIALIZED VIEW not_reading AS SELECT o.id FROM orders AS o WHERE EXISTS (SELECT 1 FROM v WHERE v.id = o.id);
