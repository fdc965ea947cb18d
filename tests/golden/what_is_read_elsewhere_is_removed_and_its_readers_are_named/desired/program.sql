CREATE TABLE orders (id BIGINT, customer STRING, price INT);
