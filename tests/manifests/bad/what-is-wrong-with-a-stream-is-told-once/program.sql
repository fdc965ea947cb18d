CREATE TABLE readings (device STRING, at TIMESTAMP, value INT) WITH ('append_only' = 'true');
CREATE MATERIALIZED VIEW v AS SELECT device, window_end, readings FROM by_device;
CREATE MATERIALIZED VIEW w AS SELECT device, value FROM second JOIN once USING (device);
