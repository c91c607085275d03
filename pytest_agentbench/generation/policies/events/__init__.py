"""A set of policies becomes an event: requests, rows, calls, and the user who makes them."""
