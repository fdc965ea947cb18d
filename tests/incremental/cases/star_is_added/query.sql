SELECT o.*, c_mktsegment FROM orders o LEFT JOIN customer ON c_custkey = o.o_custkey
