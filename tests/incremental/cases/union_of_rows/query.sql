SELECT o_custkey AS c FROM orders WHERE o_shippriority = 1 UNION (SELECT c_custkey FROM customer) ORDER BY c
