SELECT explode(a) FROM t
-- ~
SELECT explode_outer(a) FROM t
