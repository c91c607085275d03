"""One scenario to one result, and many at once; knows nothing of pytest."""
