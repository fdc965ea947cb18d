CREATE TABLE sales (
    id BIGINT NOT NULL,
    customer INT,
    amount DECIMAL(10,2)
);

CREATE TABLE clients (
    id INT NOT NULL PRIMARY KEY,
    name STRING
);

CREATE LOCAL VIEW named AS
SELECT sales.id, clients.name, sales.amount
FROM sales JOIN clients ON sales.customer = clients.id;

CREATE MATERIALIZED VIEW by_name AS
SELECT name, SUM(amount) AS total
FROM named
GROUP BY name;
