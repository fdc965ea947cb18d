select to_json(struct(*)) as o from (select left + 1 from (select a as left from t))
-- ~
select to_json(struct(*)) as o from (select LEFT + 1 from (select a as left from t))
