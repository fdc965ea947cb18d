SELECT o_custkey, o_orderdate, count(*) OVER (PARTITION BY o_custkey ORDER BY o_orderdate) AS so_far,
  lag(o_orderdate) OVER (PARTITION BY o_custkey, o_shippriority ORDER BY o_orderkey) AS before FROM orders
