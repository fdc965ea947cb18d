CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE VIEW top AS
SELECT id, amount * 3 AS x
FROM orders;
CREATE VIEW left_side AS SELECT id, x + 1 AS y FROM top;
CREATE VIEW right_side AS SELECT id, x - 1 AS z FROM top;
CREATE MATERIALIZED VIEW bottom AS SELECT l.id, l.y, r.z FROM left_side AS l JOIN right_side AS r ON l.id = r.id;
