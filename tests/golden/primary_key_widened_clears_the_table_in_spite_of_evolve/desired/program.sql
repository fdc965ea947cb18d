CREATE TABLE stock (
    shop STRING NOT NULL,
    item STRING NOT NULL,
    pieces INT,
    PRIMARY KEY (shop, item)
);

CREATE MATERIALIZED VIEW per_item AS
SELECT item, SUM(pieces) AS pieces
FROM stock
GROUP BY item;
