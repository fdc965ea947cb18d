SELECT * EXCEPT (place)
FROM (SELECT *, row_number() OVER (PARTITION BY o_custkey ORDER BY o_orderdate DESC) AS place FROM orders WHERE o_shippriority = 0)
WHERE place = 1
