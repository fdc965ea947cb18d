CREATE TABLE events (
    id BIGINT NOT NULL,
    day DATE,
    tags ARRAY<INT>,
    size BIGINT,
    source STRING
);

CREATE MATERIALIZED VIEW how_many AS
SELECT COUNT(*) AS n
FROM events;
