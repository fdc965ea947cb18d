SELECT `key_0`, `rows`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`
FROM (SELECT `key_0`, `rows`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT upper(c_mktsegment) AS `key_0`, count(*) AS `rows`, `customer`.`__change` AS `__change`
FROM `__changed_customer` AS `customer`
GROUP BY upper(c_mktsegment), `customer`.`__change`))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
