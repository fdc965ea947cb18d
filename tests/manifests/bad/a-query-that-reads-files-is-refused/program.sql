CREATE TABLE orders (id BIGINT);
CREATE VIEW a AS SELECT * FROM parquet.`/data/x.parquet`;
CREATE VIEW b AS SELECT * FROM orders JOIN delta.`s3://bucket/table` USING (id);
CREATE VIEW c AS SELECT * FROM (SELECT 1 FROM JSON.`in`), csv.people;
CREATE VIEW d AS SELECT * FROM spark_catalog.`text`.`/etc/passwd`;
CREATE VIEW e AS SELECT * FROM binaryFile.`*`, avro.x, orc.`a.b`;
