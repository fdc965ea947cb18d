SELECT explode(xs) FROM t
-- ~
SELECT explode_outer(xs) FROM t
