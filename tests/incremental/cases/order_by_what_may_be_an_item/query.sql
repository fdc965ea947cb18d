SELECT returns.o_orderkey, COUNT(*) AS orders
FROM orders LEFT JOIN returns USING (o_orderkey)
GROUP BY returns.o_orderkey, o_orderkey
ORDER BY o_orderkey LIMIT 3
