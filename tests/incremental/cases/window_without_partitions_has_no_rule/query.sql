SELECT o_orderkey, rank() OVER (ORDER BY o_orderdate) AS r FROM orders
