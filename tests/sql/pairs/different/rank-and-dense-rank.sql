SELECT rank() OVER (ORDER BY a) AS q FROM t
-- ~
SELECT dense_rank() OVER (ORDER BY a) AS q FROM t
