CREATE TABLE readings (device STRING, at TIMESTAMP, temperature INT) WITH ('append_only' = 'true');
CREATE FUNCTION follow(temperature INT) RETURNS INT AS temperature + 1;
