CREATE TABLE orders (id BIGINT, customer STRING) WITH (
  'connectors' = '[{"name": "a", "transport": {"name": "delta_table_input", "config": {"uri": "s3://a/b", "mode": "snapshot",
    "aws_secret_access_key": "abc"}}}]'
);
