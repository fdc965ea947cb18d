CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE MATERIALIZED VIEW days AS SELECT id, to_timestamp(note) AS at FROM orders;
