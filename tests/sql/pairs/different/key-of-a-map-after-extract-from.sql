SELECT m.Key, extract(DAY FROM d) FROM t
-- ~
SELECT m.key, extract(DAY FROM d) FROM t
