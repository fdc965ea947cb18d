SELECT COUNT(*) AS n FROM orders WHERE CAST(o_orderdate AS STRING) < '12:30'
