CREATE TABLE orders (id BIGINT) WITH (
  'append_only' = TRUE
);
