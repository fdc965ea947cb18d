SELECT `key_0`, `rows`
FROM (SELECT `key_0`, CAST(sum(`rows`) AS BIGINT) AS `rows`
FROM (SELECT `key_0`, `rows`
FROM `__kept`
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT a.o_custkey AS `key_0`, count(*) AS `rows`, `a`.`__change` AS `__change`
FROM `__changed_orders` a JOIN `__former_orders` b ON a.o_custkey = b.o_custkey
GROUP BY a.o_custkey, `a`.`__change`)
UNION ALL SELECT `key_0`, if(`__change` = 'insert', `rows`, -`rows`) AS `rows`
FROM (SELECT a.o_custkey AS `key_0`, count(*) AS `rows`, `b`.`__change` AS `__change`
FROM orders a JOIN `__changed_orders` b ON a.o_custkey = b.o_custkey
GROUP BY a.o_custkey, `b`.`__change`))
GROUP BY `key_0`)
WHERE CASE WHEN `rows` < 0 THEN raise_error('what is kept does not surely give what the query gives') WHEN `rows` = 0 THEN false ELSE true END
