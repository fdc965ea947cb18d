SELECT try_divide(a, b) AS q FROM t
-- ~
SELECT try_divide(b, a) AS q FROM t
