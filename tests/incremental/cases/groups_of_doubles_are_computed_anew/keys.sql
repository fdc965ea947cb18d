SELECT `__key_0`
FROM (SELECT l_returnflag AS `__key_0`
FROM `__changed_lineitem` AS `lineitem` JOIN `__former_returns` AS `returns` ON o_orderkey = l_orderkey
UNION ALL SELECT l_returnflag AS `__key_0`
FROM lineitem JOIN `__changed_returns` AS `returns` ON o_orderkey = l_orderkey)
GROUP BY `__key_0`
