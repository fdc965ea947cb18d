SELECT 'a -- b'
-- ~
SELECT 'a '
