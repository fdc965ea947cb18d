SELECT a.n, b.m FROM (SELECT COUNT(*) AS n FROM orders) a, (SELECT COUNT(*) AS m FROM customer) b
