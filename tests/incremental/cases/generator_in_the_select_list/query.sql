SELECT o_orderkey, explode(sequence(1, o_shippriority)) AS n FROM orders
