"""SPUR: rubrics of user satisfaction, the baseline."""
