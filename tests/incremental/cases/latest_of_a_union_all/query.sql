SELECT * FROM (
  SELECT *, row_number() OVER (PARTITION BY key ORDER BY day DESC) AS place FROM (
    SELECT o_custkey AS key, o_orderdate AS day FROM orders WHERE o_shippriority > 0 UNION ALL SELECT l_orderkey, l_shipdate FROM lineitem)) WHERE place = 1
