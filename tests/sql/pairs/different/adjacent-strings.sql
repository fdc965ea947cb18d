SELECT 'a' 'b'
-- ~
SELECT 'a''b'
