SELECT date_format(ts, 'MM') AS q FROM t
-- ~
SELECT date_format(ts, 'mm') AS q FROM t
