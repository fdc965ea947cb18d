select to_json(struct(a as Between, b)) as o from t
-- ~
select to_json(struct(a as between, b)) as o from t
