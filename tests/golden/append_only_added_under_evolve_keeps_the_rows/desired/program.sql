CREATE TABLE clicks (
    at TIMESTAMP,
    page STRING
) WITH ('materialized' = 'true', 'append_only' = 'true');

CREATE MATERIALIZED VIEW pages AS
SELECT page, COUNT(*) AS n
FROM clicks
GROUP BY page;
