CREATE TABLE readings (device STRING, at TIMESTAMP, value INT) WITH ('append_only' = 'true');
CREATE TABLE others (device STRING, at TIMESTAMP, value DOUBLE) WITH ('append_only' = 'true');
