select to_json(struct(a Limit)) as o from t
-- ~
select to_json(struct(a limit)) as o from t
