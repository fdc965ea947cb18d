CREATE TABLE readings (device STRING, day STRING, at TIMESTAMP, temperature INT) WITH ('append_only' = 'true');
CREATE TABLE repairs (device STRING, at TIMESTAMP, part STRING) WITH ('append_only' = 'true');
CREATE MATERIALIZED VIEW hottest AS SELECT device, max(hottest) AS hottest FROM hourly GROUP BY device;
