SELECT `__key_0`, `__key_1`
FROM (SELECT `c_custkey` AS `__key_0`, `c_mktsegment` AS `__key_1`
FROM `__changed_customer` AS `customer`)
GROUP BY `__key_0`, `__key_1`
