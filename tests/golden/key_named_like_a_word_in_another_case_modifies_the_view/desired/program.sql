CREATE TABLE Props (Id BIGINT, props MAP<STRING, STRING>) WITH ('materialized' = 'true');
CREATE MATERIALIZED VIEW by_alias AS SELECT to_json(struct(Id AS limit)) AS text FROM Props;
CREATE MATERIALIZED VIEW by_key AS SELECT props.offset AS position FROM Props;
CREATE MATERIALIZED VIEW by_path AS SELECT parse_json(props['text']):order AS ordered FROM Props;
CREATE MATERIALIZED VIEW by_unpivot AS SELECT side, n FROM (SELECT Id AS Left FROM Props) UNPIVOT (n FOR side IN (left));
CREATE MATERIALIZED VIEW only_keywords AS select Id from Props where Id is not null group by Id order by Id limit 5;
