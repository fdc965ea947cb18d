SELECT to_json(struct(Id)) FROM t
-- ~
SELECT to_json(struct(id)) FROM t
