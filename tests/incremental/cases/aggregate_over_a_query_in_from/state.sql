SELECT s.flag AS `key_0`, count(*) AS `rows`, count(s.price) AS `of_sum_0`, sum(s.price) AS `sum_0`, sum(abs(s.price)) AS `size_0`
FROM (SELECT l.l_returnflag AS flag, l.l_extendedprice * (1 - l.l_discount) AS price, o.o_custkey
FROM lineitem AS l, (SELECT o_orderkey, o_custkey
FROM orders
WHERE o_shippriority > 0) AS o
WHERE l.l_orderkey = o.o_orderkey) AS s JOIN customer ON s.o_custkey = c_custkey
GROUP BY s.flag
