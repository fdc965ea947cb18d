SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a ASC) AS q FROM t
-- ~
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) AS q FROM t
