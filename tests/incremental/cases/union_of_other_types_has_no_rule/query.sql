SELECT o_custkey AS c FROM orders UNION SELECT c_mktsegment FROM customer
