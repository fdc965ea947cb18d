CREATE TABLE clicks (
    at TIMESTAMP,
    page STRING
);

CREATE MATERIALIZED VIEW pages AS
SELECT page, COUNT(*) AS n
FROM clicks
GROUP BY page;
