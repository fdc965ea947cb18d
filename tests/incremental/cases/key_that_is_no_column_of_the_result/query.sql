SELECT o_orderkey, weekly FROM (SELECT o_orderkey, count(*) OVER (PARTITION BY o_custkey) AS weekly FROM orders)
