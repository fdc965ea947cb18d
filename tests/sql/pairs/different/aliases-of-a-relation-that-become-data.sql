select to_json(struct(*)) as o from values (1, 2) as v(Where, On)
-- ~
select to_json(struct(*)) as o from values (1, 2) as v(where, on)
