SELECT COUNT(*) FILTER (WHERE rand() > 0.5) AS n FROM orders
