"""The suites of this project, with what belongs to them."""
