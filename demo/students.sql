insert into students values (1, 'Alice'), (2, 'Bob')
