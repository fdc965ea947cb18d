CREATE TABLE readings (device STRING, at TIMESTAMP, value INT) WITH ('append_only' = 'true');
