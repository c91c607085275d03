"""A test kit for users: a scripted model server to point an agent at."""
