-- What the queries of the pairs read. Tables named like words of the grammar serve the pairs that try to mislead.
CREATE TABLE t (
  id INT, a INT, b INT, c INT, key INT, `unit price` INT, l_orderkey INT, s STRING, s2 STRING, name STRING,
  p BOOLEAN, q BOOLEAN, r BOOLEAN, d DATE, ts TIMESTAMP, xs ARRAY<INT>, m MAP<STRING, INT>
);
CREATE TABLE u (id INT, a INT, b INT, c INT, s STRING);
CREATE TABLE x (id INT, a INT, b INT, k INT, name STRING);
CREATE TABLE y (id INT, a INT, b INT, k INT, name STRING);
CREATE TABLE lineitem (id INT, a INT);
CREATE TABLE orders (id INT, price INT, day DATE);
CREATE TABLE words (a INT, all INT, distinct INT, order INT, as STRING, s STRING, true INT, current_date INT, null INT);
CREATE TABLE inner (a INT);
CREATE TABLE left (a INT);
