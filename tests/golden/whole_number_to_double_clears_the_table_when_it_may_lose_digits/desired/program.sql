CREATE TABLE events (
    id BIGINT NOT NULL,
    day DATE,
    tags ARRAY<INT>,
    size DOUBLE,
    source STRING
);

CREATE MATERIALIZED VIEW how_many AS
SELECT COUNT(*) AS n
FROM events;
