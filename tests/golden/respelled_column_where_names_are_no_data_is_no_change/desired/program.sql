CREATE TABLE Other (total INT) WITH ('materialized' = 'true');
CREATE MATERIALIZED VIEW Sums AS SELECT SUM(total) AS total FROM Other;
