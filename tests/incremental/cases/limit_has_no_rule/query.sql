SELECT o_orderkey FROM orders ORDER BY o_orderkey LIMIT 3
