CREATE TABLE limits (customer STRING, least INT);
CREATE MATERIALIZED VIEW good AS SELECT r.customer FROM other.revenue r JOIN limits l ON l.customer = r.customer WHERE r.total >= l.least;
CREATE MATERIALIZED VIEW customers AS SELECT customer FROM other.revenue;
CREATE MATERIALIZED VIEW names AS SELECT customer FROM customers;
