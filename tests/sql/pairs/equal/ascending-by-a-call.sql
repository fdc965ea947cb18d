SELECT abs(a) AS q FROM t ORDER BY abs(a) ASC LIMIT 3
-- ~
SELECT abs(a) AS q FROM t ORDER BY abs(a) LIMIT 3
