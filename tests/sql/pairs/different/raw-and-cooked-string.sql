SELECT r'\n'
-- ~
SELECT '\n'
