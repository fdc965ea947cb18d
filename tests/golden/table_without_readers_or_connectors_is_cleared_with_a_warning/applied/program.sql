CREATE TABLE ledger (
    id BIGINT,
    amount DECIMAL(10,2)
);
