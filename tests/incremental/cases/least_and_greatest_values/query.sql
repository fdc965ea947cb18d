SELECT o_custkey, MAX(o_orderdate) AS last FROM orders GROUP BY o_custkey
