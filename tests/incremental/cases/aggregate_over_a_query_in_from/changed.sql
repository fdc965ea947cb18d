SELECT `key_0`, `rows`, `of_sum_0`, `sum_0`, `size_0`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`, CAST(sum(`of_sum_0`) AS BIGINT) AS `of_sum_0`, CAST(sum(`sum_0`) AS decimal(25,2)) AS `sum_0`, CAST(sum(`size_0`) AS decimal(25,2)) AS `size_0`
FROM (SELECT `key_0`, `rows`, `of_sum_0`, `sum_0`, `size_0`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_sum_0`, -`of_sum_0`) AS `of_sum_0`, if(`__change` = 'insert', `sum_0`, -`sum_0`) AS `sum_0`, if(`__change` = 'insert', `size_0`, -`size_0`) AS `size_0`
FROM (SELECT s.flag AS `key_0`, count(*) AS `rows`, count(s.price) AS `of_sum_0`, sum(s.price) AS `sum_0`, sum(abs(s.price)) AS `size_0`, `s`.`__change` AS `__change`
FROM (SELECT l.l_returnflag AS flag, l.l_extendedprice * (1 - l.l_discount) AS price, o.o_custkey, `l`.`__change` AS `__change`
FROM `__changed_lineitem` AS l, (SELECT o_orderkey, o_custkey
FROM `__former_orders` AS `orders`
WHERE o_shippriority > 0) AS o
WHERE l.l_orderkey = o.o_orderkey) AS s JOIN `__former_customer` AS `customer` ON s.o_custkey = c_custkey
GROUP BY s.flag, `s`.`__change`)
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_sum_0`, -`of_sum_0`) AS `of_sum_0`, if(`__change` = 'insert', `sum_0`, -`sum_0`) AS `sum_0`, if(`__change` = 'insert', `size_0`, -`size_0`) AS `size_0`
FROM (SELECT s.flag AS `key_0`, count(*) AS `rows`, count(s.price) AS `of_sum_0`, sum(s.price) AS `sum_0`, sum(abs(s.price)) AS `size_0`, `s`.`__change` AS `__change`
FROM (SELECT l.l_returnflag AS flag, l.l_extendedprice * (1 - l.l_discount) AS price, o.o_custkey, `o`.`__change` AS `__change`
FROM lineitem AS l, (SELECT o_orderkey, o_custkey, `orders`.`__change` AS `__change`
FROM `__changed_orders` AS `orders`
WHERE o_shippriority > 0) AS o
WHERE l.l_orderkey = o.o_orderkey) AS s JOIN `__former_customer` AS `customer` ON s.o_custkey = c_custkey
GROUP BY s.flag, `s`.`__change`)
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`, if(`__change` = 'insert', `of_sum_0`, -`of_sum_0`) AS `of_sum_0`, if(`__change` = 'insert', `sum_0`, -`sum_0`) AS `sum_0`, if(`__change` = 'insert', `size_0`, -`size_0`) AS `size_0`
FROM (SELECT s.flag AS `key_0`, count(*) AS `rows`, count(s.price) AS `of_sum_0`, sum(s.price) AS `sum_0`, sum(abs(s.price)) AS `size_0`, `customer`.`__change` AS `__change`
FROM (SELECT l.l_returnflag AS flag, l.l_extendedprice * (1 - l.l_discount) AS price, o.o_custkey
FROM lineitem AS l, (SELECT o_orderkey, o_custkey
FROM orders
WHERE o_shippriority > 0) AS o
WHERE l.l_orderkey = o.o_orderkey) AS s JOIN `__changed_customer` AS `customer` ON s.o_custkey = c_custkey
GROUP BY s.flag, `customer`.`__change`))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 OR `of_sum_0` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
