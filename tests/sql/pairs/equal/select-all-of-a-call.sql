SELECT ALL abs(a) AS q FROM t
-- ~
SELECT abs(a) AS q FROM t
