SELECT a FROM t WHERE (A, b) IN ((1, A), (2, b)) AND (a, b) = (A, B)
-- ~
select a from t where (a, b) in ((1, a), (2, b)) and (a, b) = (a, b)
