CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE MATERIALIZED VIEW v AS
SELECT customer, sum(CAST(amount AS DOUBLE)) AS total, min(id) AS latest
FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW totals AS SELECT customer, total FROM v;
CREATE MATERIALIZED VIEW names AS SELECT customer FROM v;
