SELECT outer.a FROM left outer JOIN u
-- ~
SELECT outer.a FROM left JOIN u
