CREATE TABLE readings (device STRING, at TIMESTAMP, parts MAP<STRING, INT>) WITH ('append_only' = 'true');
