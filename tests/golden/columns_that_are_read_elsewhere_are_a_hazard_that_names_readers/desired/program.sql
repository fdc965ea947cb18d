CREATE TABLE orders (id BIGINT, buyer STRING, price BIGINT);
CREATE MATERIALIZED VIEW revenue AS SELECT buyer, SUM(price) AS revenue FROM orders GROUP BY buyer;
