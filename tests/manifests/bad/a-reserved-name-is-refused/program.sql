CREATE TABLE _reconciler_steps (id BIGINT);
