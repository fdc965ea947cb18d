SELECT `key_0`, `key_1`, `rows`
FROM (SELECT `key_0`, `key_1`, CAST(sum(`rows`) AS BIGINT) AS `rows`
FROM (SELECT `key_0`, `key_1`, `rows`
FROM `__kept`
UNION ALL SELECT `key_0`, `key_1`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT c_mktsegment AS `key_0`, c_custkey % 10 AS `key_1`, count(*) AS `rows`, `customer`.`__change` AS `__change`
FROM `__changed_customer` AS `customer`
GROUP BY c_mktsegment, c_custkey % 10, `customer`.`__change`))
GROUP BY `key_0`, `key_1`)
WHERE CASE WHEN `rows` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
