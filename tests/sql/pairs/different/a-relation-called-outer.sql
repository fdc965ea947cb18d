SELECT outer.a FROM t outer JOIN u ON TRUE
-- ~
SELECT outer.a FROM t JOIN u ON TRUE
