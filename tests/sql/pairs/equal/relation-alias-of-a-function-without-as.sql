SELECT q.id FROM range(3) q
-- ~
SELECT q.id FROM range(3) AS q
