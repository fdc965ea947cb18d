SELECT L.ID FROM lineitem L
-- ~
SELECT l.id FROM lineitem l
