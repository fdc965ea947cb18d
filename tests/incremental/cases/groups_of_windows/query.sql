SELECT o_custkey, MIN(o_orderdate) AS began, COUNT(*) AS orders FROM (
  SELECT o_custkey, o_orderdate, SUM(is_new) OVER (PARTITION BY o_custkey ORDER BY o_orderdate) AS visit FROM (
    SELECT o_custkey, o_orderdate, CASE WHEN datediff(o_orderdate, lag(o_orderdate) OVER (PARTITION BY o_custkey ORDER BY o_orderdate)) > 30
      THEN 1 ELSE 0 END AS is_new FROM orders)) GROUP BY o_custkey, visit
