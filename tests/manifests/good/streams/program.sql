CREATE TABLE sensor_readings (id BIGINT, device STRING, day STRING, temperature INT, read_at TIMESTAMP)
  WITH ('append_only' = 'true');
CREATE TABLE orders (order_id BIGINT, ordered STRING) WITH ('append_only' = 'true');
CREATE TABLE payments (order_id BIGINT, paid_at TIMESTAMP) WITH ('append_only' = 'true');
CREATE FUNCTION follow(state STRUCT<hot INT>, rows ARRAY<STRUCT<read_at TIMESTAMP, temperature INT>>)
  RETURNS STRUCT<state STRUCT<hot INT>, rows ARRAY<STRUCT<event_time TIMESTAMP, hot INT>>> AS
  named_struct('state', state, 'rows', transform(rows, one -> named_struct('event_time', one.read_at, 'hot', 1)));
