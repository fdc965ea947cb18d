SELECT O.ID, SUM(O.Price) AS total
FROM `Orders` O -- orders
WHERE ((O.day >= DATE '2020-01-01'))
GROUP BY O.ID;
-- ~
select o.id,sum(o.price) as total from orders o where o.day>=date'2020-01-01' group by o.id
