CREATE TABLE Props (Id BIGINT, props MAP<STRING, STRING>) WITH ('materialized' = 'true');
CREATE MATERIALIZED VIEW v AS SELECT props.color AS color FROM Props;
