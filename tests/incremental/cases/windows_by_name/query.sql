SELECT o_custkey, o_orderdate, rank() OVER (of_customer ORDER BY o_orderdate) AS place, count(*) OVER of_customer AS orders
FROM orders WINDOW of_customer AS (PARTITION BY o_custkey)
