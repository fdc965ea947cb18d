CREATE TABLE orders (
    id BIGINT NOT NULL,
    customer INT,
    amount DECIMAL(10,2)
);

CREATE TABLE customers (
    id INT NOT NULL PRIMARY KEY,
    name STRING
);

CREATE LOCAL VIEW named AS
SELECT orders.id, customers.name, orders.amount
FROM orders JOIN customers ON orders.customer = customers.id;

CREATE MATERIALIZED VIEW by_name AS
SELECT name, SUM(amount) AS total
FROM named
GROUP BY name;
