WITH C AS (SELECT 1 AS x) SELECT x FROM C
-- ~
with c as (select 1 as x) select x from c
