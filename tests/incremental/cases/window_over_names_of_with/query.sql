WITH few AS (SELECT * FROM orders WHERE o_shippriority = 0),
  ranked AS (SELECT few.*, c_mktsegment, rank() OVER (PARTITION BY few.o_custkey ORDER BY o_orderdate) AS place
    FROM few LEFT JOIN customer ON c_custkey = few.o_custkey)
SELECT o_custkey, c_mktsegment, o_orderkey FROM ranked WHERE place <= 3
