select typeof(struct(a Cross)) as o from t
-- ~
select typeof(struct(a cross)) as o from t
