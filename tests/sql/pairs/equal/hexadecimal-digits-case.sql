SELECT X'1f', hex(x'aB') AS y FROM t
-- ~
SELECT X'1F', hex(X'AB') AS y FROM t
