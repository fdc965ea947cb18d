CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING, note STRING, amount DECIMAL(10, 2));
CREATE VIEW v AS SELECT id, customer, note FROM orders;
