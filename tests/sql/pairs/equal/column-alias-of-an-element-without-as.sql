SELECT m['Key'] q FROM t
-- ~
SELECT m['Key'] AS q FROM t
