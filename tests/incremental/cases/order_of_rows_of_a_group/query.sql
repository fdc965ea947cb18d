SELECT o_custkey, collect_list(o_orderkey) AS keys FROM orders GROUP BY o_custkey
