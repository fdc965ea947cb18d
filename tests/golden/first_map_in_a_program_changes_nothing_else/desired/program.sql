CREATE TABLE Other (Total INT) WITH ('materialized' = 'true');
CREATE MATERIALIZED VIEW Sums AS SELECT SUM(Total) AS Total FROM Other;
CREATE TABLE Props (Id BIGINT, props MAP<STRING, STRING>) WITH ('materialized' = 'true');
