SELECT $$A$$
-- ~
SELECT $$a$$
