SELECT by.n FROM group by (n)
-- ~
SELECT by.n FROM group by n
