CREATE TABLE sensor_readings (id BIGINT, device STRING, day STRING, temperature INT, read_at TIMESTAMP)
  WITH ('append_only' = 'true');
CREATE TABLE orders (order_id BIGINT, ordered STRING) WITH ('append_only' = 'true');
CREATE TABLE payments (order_id BIGINT, paid_at TIMESTAMP) WITH ('append_only' = 'true');
