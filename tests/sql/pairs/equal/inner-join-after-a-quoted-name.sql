SELECT y.b FROM x `q r` INNER JOIN y ON `q r`.a = y.a
-- ~
SELECT y.b FROM x `q r` JOIN y ON `q r`.a = y.a
