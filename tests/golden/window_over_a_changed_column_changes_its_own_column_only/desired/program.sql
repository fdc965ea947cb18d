CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE VIEW v AS
SELECT id, customer, amount * 3 AS x
FROM orders;
CREATE MATERIALIZED VIEW ranked AS SELECT id, customer, rank() OVER (PARTITION BY customer ORDER BY x) AS place FROM v;
CREATE MATERIALIZED VIEW winners AS SELECT id FROM ranked WHERE place = 1;
CREATE MATERIALIZED VIEW names AS SELECT customer, count(*) AS n FROM ranked GROUP BY customer;
