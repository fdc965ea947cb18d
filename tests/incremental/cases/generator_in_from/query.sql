SELECT x, COUNT(*) AS n FROM orders LATERAL VIEW explode(array(1, 2)) e AS x GROUP BY x
