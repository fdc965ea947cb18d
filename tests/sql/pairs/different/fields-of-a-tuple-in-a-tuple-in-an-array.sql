SELECT array((1, (t.A, 1))) AS x FROM t
-- ~
SELECT array((1, (t.a, 1))) AS x FROM t
