CREATE TABLE orders (
    customer INT,
    day DATE,
    till INT
);

CREATE TABLE closings (
    shop INT,
    day DATE
);

CREATE MATERIALIZED VIEW on_closed_days AS
SELECT *
FROM orders NATURAL JOIN closings;

CREATE MATERIALIZED VIEW by_day AS
SELECT day, COUNT(*) AS n
FROM orders
GROUP BY day;
