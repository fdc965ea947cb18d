CREATE TABLE readings (device STRING, at TIMESTAMP, temperature INT) WITH ('append_only' = 'true');
CREATE FUNCTION follow(state STRUCT<hot INT>, rows ARRAY<STRUCT<at TIMESTAMP, temperature INT>>)
  RETURNS STRUCT<state STRUCT<hot INT>, rows ARRAY<STRUCT<event_time DATE, hot INT>>> AS
  named_struct('state', state, 'rows', CAST(array() AS ARRAY<STRUCT<event_time: DATE, hot: INT>>));
