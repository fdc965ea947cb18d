select to_json(cast(struct(a) as struct<Order: int>)) as o from t
-- ~
select to_json(cast(struct(a) as struct<order: int>)) as o from t
