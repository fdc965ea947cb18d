SELECT id, row_number() OVER (ORDER BY id ASC) AS q FROM t
-- ~
SELECT id, row_number() OVER (ORDER BY id DESC) AS q FROM t
