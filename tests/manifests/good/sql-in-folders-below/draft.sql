CREATE TABLE unused (id BIGIN);
