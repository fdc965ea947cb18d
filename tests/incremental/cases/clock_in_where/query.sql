SELECT COUNT(*) AS n FROM orders WHERE o_orderdate = current_date()
