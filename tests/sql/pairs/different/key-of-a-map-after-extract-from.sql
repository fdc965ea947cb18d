SELECT m.Key, extract(DAY FROM m) FROM t
-- ~
SELECT m.key, extract(DAY FROM m) FROM t
