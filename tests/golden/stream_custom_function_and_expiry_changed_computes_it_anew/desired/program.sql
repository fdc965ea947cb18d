CREATE TABLE readings (device STRING, day STRING, at TIMESTAMP, temperature INT) WITH ('append_only' = 'true');
CREATE TABLE repairs (device STRING, at TIMESTAMP, part STRING) WITH ('append_only' = 'true');
CREATE MATERIALIZED VIEW hottest AS SELECT device, max(hottest) AS hottest FROM hourly GROUP BY device;
CREATE FUNCTION follow(state STRUCT<hot INT>, rows ARRAY<STRUCT<at TIMESTAMP, temperature INT>>)
  RETURNS STRUCT<state STRUCT<hot INT>, rows ARRAY<STRUCT<event_time TIMESTAMP, hot INT>>> AS
  named_struct('state', state, 'rows', transform(rows, one -> named_struct('event_time', one.at, 'hot', one.temperature + 2)));
