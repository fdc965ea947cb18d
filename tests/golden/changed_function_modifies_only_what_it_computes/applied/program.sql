CREATE TABLE sales (id INT, price DOUBLE, quantity INT, region STRING);

CREATE FUNCTION reduced(price DOUBLE) RETURNS DOUBLE AS price * 0.9;

CREATE MATERIALIZED VIEW priced AS
WITH lines AS (
    SELECT id, reduced(price) AS price, sum(price) OVER (PARTITION BY region) AS in_region, quantity FROM sales
)
SELECT id, price, in_region, CASE WHEN quantity > 1 THEN 'many' ELSE 'one' END AS tier FROM lines;

CREATE MATERIALIZED VIEW prices AS SELECT id, price FROM priced;
CREATE MATERIALIZED VIEW tiers AS SELECT id, tier FROM priced;
CREATE MATERIALIZED VIEW regions AS SELECT DISTINCT in_region FROM priced;
CREATE MATERIALIZED VIEW cheap AS SELECT id FROM sales WHERE reduced(price) < 10;
CREATE MATERIALIZED VIEW cheap_ones AS SELECT count(*) AS n FROM cheap;
