CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, balance REAL);
