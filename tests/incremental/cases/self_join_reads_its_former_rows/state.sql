SELECT a.o_custkey AS `key_0`, count(*) AS `rows`
FROM orders a JOIN orders b ON a.o_custkey = b.o_custkey
GROUP BY a.o_custkey
