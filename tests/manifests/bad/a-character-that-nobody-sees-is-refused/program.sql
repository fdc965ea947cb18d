CREATE TABLE orders (id BIGINT);
-- [2K nothing
CREATE VIEW a AS SELECT 1 AS n FROM orders;
