CREATE TABLE sales (good VARCHAR, amount DECIMAL(10,2));
CREATE MATERIALIZED VIEW revenue AS SELECT good, rank() OVER (ORDER BY amount) AS amount FROM sales;
CREATE MATERIALIZED VIEW visits AS SELECT good, COUNT(*) AS n, MAX(amount) AS most FROM sales GROUP BY good;
