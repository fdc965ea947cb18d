CREATE TABLE readings (
    sensor INT NOT NULL,
    unit STRING,
    value DOUBLE
);

CREATE MATERIALIZED VIEW everything AS
SELECT *
FROM readings;

CREATE MATERIALIZED VIEW units AS
SELECT DISTINCT unit
FROM readings;
