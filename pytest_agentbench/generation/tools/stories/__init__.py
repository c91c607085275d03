"""A walk becomes a story and a scenario: real calls, what is said, who says it, and whether that can be used."""
