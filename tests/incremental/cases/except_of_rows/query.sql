SELECT o_custkey AS c FROM orders EXCEPT SELECT c_custkey FROM customer
