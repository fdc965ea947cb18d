CREATE TABLE t (
    id BIGINT,
    name VARCHAR,
    price DECIMAL(10,2)
) WITH ('materialized' = 'true');

CREATE TABLE u (
    id BIGINT NOT NULL PRIMARY KEY,
    t_id BIGINT
) WITH ('materialized' = 'true');

CREATE VIEW a AS
SELECT name, SUM(price) AS total
FROM t
GROUP BY name;

CREATE MATERIALIZED VIEW b AS
SELECT name, total
FROM a
WHERE total > 10;

CREATE MATERIALIZED VIEW c AS
SELECT t_id, COUNT(*) AS n
FROM u
GROUP BY t_id;
