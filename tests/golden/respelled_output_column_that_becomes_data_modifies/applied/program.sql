CREATE TABLE Other (Total INT) WITH ('materialized' = 'true');
CREATE MATERIALIZED VIEW Sums AS SELECT SUM(Total) AS Total FROM Other;
CREATE VIEW inner_view AS SELECT Total AS Total FROM Other;
CREATE MATERIALIZED VIEW j AS SELECT to_json(struct(*)) AS doc FROM inner_view;
