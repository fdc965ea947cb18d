SELECT l_orderkey, SUM(l_quantity) AS quantity, COUNT(*) AS items
FROM lineitem
WHERE l_returnflag = 'R'
GROUP BY l_orderkey
HAVING COUNT(*) > 1
ORDER BY quantity DESC, l_orderkey
LIMIT 10
