"""Statistics of results: pure functions over numbers, nothing but the standard library."""
