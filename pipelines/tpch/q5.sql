-- TPC-H 5: the revenue of one year in one region where supplier and customer are of the same nation, by nation.
CREATE MATERIALIZED VIEW q5 AS
SELECT
  n.n_name,
  sum(l.l_extendedprice * (1 - l.l_discount)) AS revenue
FROM region AS r
JOIN nation AS n ON n.n_regionkey = r.r_regionkey
JOIN customer AS c ON c.c_nationkey = n.n_nationkey
JOIN orders AS o ON o.o_custkey = c.c_custkey
JOIN lineitem AS l ON l.l_orderkey = o.o_orderkey
JOIN supplier AS s ON s.s_suppkey = l.l_suppkey AND s.s_nationkey = c.c_nationkey
WHERE r.r_name = 'ASIA'
  AND o.o_orderdate >= DATE '1994-01-01'
  AND o.o_orderdate < DATE '1995-01-01'
GROUP BY n.n_name;
