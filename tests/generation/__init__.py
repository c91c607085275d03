"""Generation of scenarios."""
