select to_json(struct(left, b)) as o from (select a as left, b from t)
-- ~
select to_json(struct(Left, b)) as o from (select a as left, b from t)
