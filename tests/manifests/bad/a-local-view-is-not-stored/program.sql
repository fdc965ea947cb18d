CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer STRING);
CREATE LOCAL VIEW totals AS SELECT customer, count(*) AS orders FROM orders GROUP BY customer;
CREATE VIEW largest AS SELECT max(orders) AS most FROM totals;
