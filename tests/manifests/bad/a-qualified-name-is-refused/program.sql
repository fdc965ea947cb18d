CREATE TABLE shop.orders (id BIGINT);
