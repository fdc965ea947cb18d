SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, AVG(l_quantity) AS avg_qty, COUNT(*) AS count_order
FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL 90 DAY
GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus
