SELECT max((a AS Foo, 1)) AS x FROM t
-- ~
SELECT max((a AS foo, 1)) AS x FROM t
