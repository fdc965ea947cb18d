WITH buyers AS (SELECT c_custkey AS buyer, c_mktsegment AS segment FROM customer WHERE c_mktsegment <> 'NONE'),
placed AS (SELECT o_custkey AS buyer, o_orderkey FROM orders WHERE o_shippriority = 0)
SELECT buyers.segment, COUNT(*) AS buyers, COUNT(placed.o_orderkey) AS orders
FROM buyers LEFT JOIN placed ON placed.buyer = buyers.buyer
GROUP BY buyers.segment
