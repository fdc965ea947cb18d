select n, v from (select a as left, b as right from t) unpivot (v for n in (Left, Right))
-- ~
select n, v from (select a as left, b as right from t) unpivot (v for n in (left, right))
