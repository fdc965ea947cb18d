CREATE TABLE orders (id BIGINT, price INT);
CREATE MATERIALIZED VIEW own AS SELECT id, sum(amount) AS amount FROM orders GROUP BY id;
CREATE MATERIALIZED VIEW later AS SELECT more + 1 AS most, price + 1 AS more FROM orders;
CREATE MATERIALIZED VIEW filtered AS SELECT price + 1 AS more FROM orders WHERE more > 1;
CREATE MATERIALIZED VIEW sound AS SELECT price + 1 AS more, more + 1 AS most FROM orders ORDER BY most;
