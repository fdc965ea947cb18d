-- TPC-H 10: customers who returned parts that they ordered in one quarter, with the revenue that this cost.
-- The benchmark asks for the twenty largest; the view holds all, and a query may take twenty.
CREATE MATERIALIZED VIEW q10 AS
SELECT
  c.c_custkey,
  c.c_name,
  sum(l.l_extendedprice * (1 - l.l_discount)) AS revenue,
  c.c_acctbal,
  n.n_name,
  c.c_address,
  c.c_phone,
  c.c_comment
FROM customer AS c
JOIN nation AS n ON n.n_nationkey = c.c_nationkey
JOIN orders AS o ON o.o_custkey = c.c_custkey
JOIN lineitem AS l ON l.l_orderkey = o.o_orderkey
WHERE o.o_orderdate >= DATE '1993-10-01'
  AND o.o_orderdate < DATE '1994-01-01'
  AND l.l_returnflag = 'R'
GROUP BY c.c_custkey, c.c_name, c.c_acctbal, c.c_phone, n.n_name, c.c_address, c.c_comment;
