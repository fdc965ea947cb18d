SELECT k FROM (SELECT o_orderkey AS k FROM orders) AS s
