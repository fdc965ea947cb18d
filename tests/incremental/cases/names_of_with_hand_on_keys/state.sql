SELECT buyers.segment AS `key_0`, count(*) AS `rows`, COUNT(placed.o_orderkey) AS `count_0`
FROM (
SELECT c_custkey AS buyer, c_mktsegment AS segment
FROM customer
WHERE c_mktsegment <> 'NONE'
) AS buyers LEFT JOIN (
SELECT o_custkey AS buyer, o_orderkey
FROM orders
WHERE o_shippriority = 0
) AS placed ON placed.buyer = buyers.buyer
GROUP BY buyers.segment
