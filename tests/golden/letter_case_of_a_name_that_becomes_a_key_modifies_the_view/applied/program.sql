CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE MATERIALIZED VIEW texts AS SELECT to_json(struct(id, customer AS buyer)) AS text FROM orders;
CREATE MATERIALIZED VIEW ids AS SELECT id FROM orders;
