SELECT o_orderkey, c_mktsegment, l_quantity FROM orders JOIN customer ON c_custkey = o_custkey JOIN lineitem l ON l.l_orderkey = o_orderkey
