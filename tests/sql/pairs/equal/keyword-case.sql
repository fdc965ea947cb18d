SELECT id FROM t WHERE a IS NOT NULL
-- ~
select id from t where a is not null
