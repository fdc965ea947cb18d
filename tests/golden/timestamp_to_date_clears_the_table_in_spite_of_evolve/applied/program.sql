CREATE TABLE readings (
    sensor INT NOT NULL,
    taken TIMESTAMP,
    value FLOAT,
    unit VARCHAR(10),
    price DECIMAL(10,2)
);

CREATE MATERIALIZED VIEW prices AS
SELECT sensor, price
FROM readings;

CREATE MATERIALIZED VIEW units AS
SELECT unit, COUNT(*) AS n
FROM readings
GROUP BY unit;

CREATE MATERIALIZED VIEW how_many AS
SELECT COUNT(*) AS n
FROM readings;
