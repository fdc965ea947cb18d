select to_json(cast(parse_json('{"Desc": 1}') as struct<Desc: int>)) as o from t
-- ~
select to_json(cast(parse_json('{"Desc": 1}') as struct<desc: int>)) as o from t
