CREATE TABLE Other (Total INT) WITH ('materialized' = 'true');
CREATE MATERIALIZED VIEW Sums AS SELECT SUM(Total) AS Total FROM Other;
