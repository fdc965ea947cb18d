SELECT l_returnflag AS `key_0`, count(*) AS `rows`, COUNT(c_custkey) AS `count_0`
FROM lineitem LEFT JOIN orders ON l_orderkey = o_orderkey LEFT JOIN customer ON o_custkey = c_custkey
GROUP BY l_returnflag
