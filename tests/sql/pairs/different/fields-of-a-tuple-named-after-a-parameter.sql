SELECT transform(xs, X -> (X, 1)) AS x FROM t
-- ~
SELECT transform(xs, x -> (x, 1)) AS x FROM t
