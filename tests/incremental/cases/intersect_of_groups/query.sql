SELECT o_custkey AS c, MAX(o_orderdate) AS d FROM orders GROUP BY o_custkey INTERSECT SELECT l_orderkey, MAX(l_shipdate) FROM lineitem GROUP BY 1
