"""A weather assistant for France: looks places up, tells forecasts, conditions, rain and warnings."""
