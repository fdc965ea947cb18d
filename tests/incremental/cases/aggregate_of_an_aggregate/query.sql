SELECT c_count, COUNT(*) AS custdist
FROM (SELECT o_custkey, COUNT(*) AS c_count FROM orders GROUP BY o_custkey) AS c_orders GROUP BY c_count
