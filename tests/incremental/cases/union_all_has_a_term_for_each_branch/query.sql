SELECT o_orderkey AS k, 'order' AS kind FROM orders UNION ALL SELECT c_custkey, c_mktsegment FROM customer
