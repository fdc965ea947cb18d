CREATE TABLE readings (id BIGINT, device STRING, temperature INT, read_at TIMESTAMP) WITH ('append_only' = 'true');
