select map('Offset', a, 'offset', b).Offset as o from t
-- ~
select map('Offset', a, 'offset', b).offset as o from t
