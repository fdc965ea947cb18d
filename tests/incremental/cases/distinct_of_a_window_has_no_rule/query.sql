SELECT DISTINCT o_custkey, rank() OVER (ORDER BY o_orderkey) AS place FROM orders
