with c (From, Null) as (select a, b from t) select to_json(struct(*)) as o from c
-- ~
with c (from, null) as (select a, b from t) select to_json(struct(*)) as o from c
