SELECT id FROM t
-- ~
SELECT/**/id/**/FROM/**/t
