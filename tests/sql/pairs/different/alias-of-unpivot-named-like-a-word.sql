select n, v from t unpivot (v for n in (a as Group, b Having))
-- ~
select n, v from t unpivot (v for n in (a as group, b having))
