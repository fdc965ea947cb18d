SELECT date_format(d, 'MM') FROM t
-- ~
SELECT date_format(d, 'mm') FROM t
