CREATE TABLE orders (
  id BIGINT NOT NULL PRIMARY KEY,
  customer STRING
);
CREATE VIEW v AS SELECT * FROM csv.`/etc/passwd` |> WHERE 1 = 1;
