select m.End as o from (select map('End', a, 'end', b) as m from t) where m.End is null or 1 = 1
-- ~
select m.end as o from (select map('End', a, 'end', b) as m from t) where m.End is null or 1 = 1
