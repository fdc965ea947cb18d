SELECT count(*) AS `rows`, count(l_extendedprice * l_discount) AS `of_sum_0`, sum(l_extendedprice * l_discount) AS `sum_0`, sum(abs(l_extendedprice * l_discount)) AS `size_0`
FROM lineitem
WHERE l_discount BETWEEN 0.05 AND 0.07
