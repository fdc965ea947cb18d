CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE VIEW a AS
SELECT id, customer, amount * 3 AS x
FROM orders;
CREATE VIEW b AS SELECT id, customer, x + 1 AS y FROM a;
CREATE VIEW c AS SELECT customer, y AS z FROM b;
CREATE MATERIALIZED VIEW d AS SELECT customer, sum(z) AS total FROM c GROUP BY customer;
