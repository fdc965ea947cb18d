select to_json(struct(*)) as o from (select a, b from t) pivot (sum(b) for a in (1 Natural, 2 as Semi))
-- ~
select to_json(struct(*)) as o from (select a, b from t) pivot (sum(b) for a in (1 natural, 2 as semi))
