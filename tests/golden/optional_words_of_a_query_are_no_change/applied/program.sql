CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE TABLE customers (name STRING NOT NULL PRIMARY KEY, country STRING);
CREATE MATERIALIZED VIEW v AS
SELECT o.customer buyer, sum(o.amount) AS total
FROM orders o JOIN customers c ON o.customer = c.name LEFT JOIN customers d ON d.name = o.note
WHERE o.amount > 1 AND c.country != 'X'
GROUP BY o.customer
ORDER BY total
LIMIT 3;
