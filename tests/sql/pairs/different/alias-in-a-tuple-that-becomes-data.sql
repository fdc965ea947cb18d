select to_json((a Then, b)) as o from t
-- ~
select to_json((a then, b)) as o from t
