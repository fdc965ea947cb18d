select try_cast(parse_json('{"Order": 1, "order": 2}'):Order as int) as o from t
-- ~
select try_cast(parse_json('{"Order": 1, "order": 2}'):order as int) as o from t
