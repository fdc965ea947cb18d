SELECT o_custkey, o_orderkey, o_orderdate FROM orders WHERE o_shippriority < 2 OR o_orderkey IS NULL
QUALIFY row_number() OVER (PARTITION BY o_custkey ORDER BY o_orderdate DESC) = 1 ORDER BY o_custkey
