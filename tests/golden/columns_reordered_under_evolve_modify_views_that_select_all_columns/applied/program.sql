CREATE TABLE readings (
    sensor INT NOT NULL,
    value DOUBLE,
    unit STRING
);

CREATE MATERIALIZED VIEW everything AS
SELECT *
FROM readings;

CREATE MATERIALIZED VIEW units AS
SELECT DISTINCT unit
FROM readings;
