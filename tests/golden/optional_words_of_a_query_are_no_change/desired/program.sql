CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE TABLE customers (name STRING NOT NULL PRIMARY KEY, country STRING);
CREATE MATERIALIZED VIEW v AS
SELECT ALL o.customer AS buyer, sum(o.amount) total
FROM orders AS o INNER JOIN customers AS c ON (o.customer = c.name) LEFT OUTER JOIN customers AS d ON d.name = o.note
WHERE (o.amount > 1) AND ((c.country <> 'X'))
GROUP BY o.customer
ORDER BY total ASC NULLS FIRST
LIMIT 3;
