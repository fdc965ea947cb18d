SELECT SUM(weight) AS w FROM returns
