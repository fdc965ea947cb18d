SELECT named_struct('q', a != b) FROM t
-- ~
SELECT named_struct('q', a <> b) FROM t
