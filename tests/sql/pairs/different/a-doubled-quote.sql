SELECT 'a''b'
-- ~
SELECT 'ab'
