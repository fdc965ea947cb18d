CREATE TABLE Props (Id BIGINT, props MAP<STRING, STRING>) WITH ('materialized' = 'true');
CREATE MATERIALIZED VIEW by_alias AS SELECT to_json(struct(Id AS Limit)) AS text FROM Props;
CREATE MATERIALIZED VIEW by_key AS SELECT props.Offset AS position FROM Props;
CREATE MATERIALIZED VIEW by_path AS SELECT parse_json(props['text']):Order AS ordered FROM Props;
CREATE MATERIALIZED VIEW by_unpivot AS SELECT side, n FROM (SELECT Id AS Left FROM Props) UNPIVOT (n FOR side IN (Left));
CREATE MATERIALIZED VIEW only_keywords AS SELECT Id FROM Props WHERE Id IS NOT NULL GROUP BY Id ORDER BY Id LIMIT 5;
