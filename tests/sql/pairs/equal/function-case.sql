SELECT COUNT(id) FROM t
-- ~
select count(id) from t
