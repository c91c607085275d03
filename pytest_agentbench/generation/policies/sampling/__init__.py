"""Sets of policies of exactly the level asked for."""
