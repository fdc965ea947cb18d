select to_json(struct(s.*)) as o from (select named_struct('Like', a, 'b', b) as s from t)
-- ~
select to_json(struct(s.*)) as o from (select named_struct('like', a, 'b', b) as s from t)
