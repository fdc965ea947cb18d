SELECT o_custkey AS c, COUNT(*) FILTER (WHERE o_shippriority > 0) AS urgent, COUNT(o_orderdate) AS dated,
 SUM(CASE WHEN o_shippriority = 0 THEN 1 ELSE 0 END) AS calm FROM orders GROUP BY 1
