select try_cast(parse_json('{"t": {"Key": 1, "key": 2}}'):t.Key as int) as o from t
-- ~
select try_cast(parse_json('{"t": {"Key": 1, "key": 2}}'):t.key as int) as o from t
