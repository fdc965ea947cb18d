select to_json(struct(Case)) as o from t lateral view explode(xs) e as Case
-- ~
select to_json(struct(case)) as o from t lateral view explode(xs) e as case
