SELECT o_custkey AS c, COUNT(*) AS o_shippriority FROM orders GROUP BY o_custkey HAVING o_shippriority > 1
