CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE MATERIALIZED VIEW v (id, buyer) AS SELECT id, customer FROM orders;
CREATE MATERIALIZED VIEW buyers AS SELECT buyer, count(*) AS n FROM v GROUP BY buyer;
