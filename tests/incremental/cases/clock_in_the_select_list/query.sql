SELECT o_orderkey, current_date() AS today FROM orders
