Create TABLE t (
    id BIGINT,
    name VARCHAR,
    price DECIMAL(10,2)
) WITH ('materialized' = 'true');

Create TABLE u (
    id BIGINT NOT NULL PRIMARY KEY,
    t_id BIGINT
) WITH ('materialized' = 'true');

Create VIEW a AS
select name, SUM(price) AS total
FROM t
group By name;

Create MATERIALIZED VIEW b AS
select name, total
FROM a
WHERE total > 10;

Create MATERIALIZED VIEW c AS
select t_id, COUNT(*) AS n
FROM u
group By t_id;
