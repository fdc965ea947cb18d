CREATE TABLE orders (
    id BIGINT NOT NULL,
    customer INT,
    amount DECIMAL(10,2)
);

CREATE TABLE customers (
    id INT NOT NULL PRIMARY KEY,
    name STRING
);

CREATE MATERIALIZED VIEW by_name AS
SELECT name, SUM(amount) AS total
FROM orders JOIN customers ON orders.customer = customers.id
GROUP BY name;

CREATE MATERIALIZED VIEW names AS
SELECT name
FROM customers;
