SELECT c_mktsegment AS `key_0`, count(*) AS `rows`, COUNT(o_orderkey) AS `count_0`
FROM customer LEFT JOIN orders ON c_custkey = o_custkey
GROUP BY c_mktsegment
