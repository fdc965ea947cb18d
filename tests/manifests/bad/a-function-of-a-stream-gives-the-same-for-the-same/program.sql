CREATE TABLE readings (device STRING, at TIMESTAMP, temperature INT) WITH ('append_only' = 'true');
CREATE FUNCTION follow(state STRUCT<hot INT>, rows ARRAY<STRUCT<at TIMESTAMP, temperature INT>>)
  RETURNS STRUCT<state STRUCT<hot INT>, rows ARRAY<STRUCT<event_time TIMESTAMP, hot INT>>>;
