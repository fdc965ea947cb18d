CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE MATERIALIZED VIEW v AS
SELECT id FROM orders
WHERE customer = 'a' OR customer = 'b';
