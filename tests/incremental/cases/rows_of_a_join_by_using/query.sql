SELECT o_custkey, SUM(l_quantity) AS q FROM orders JOIN returns USING (o_orderkey) JOIN lineitem ON l_orderkey = o_orderkey GROUP BY o_custkey
