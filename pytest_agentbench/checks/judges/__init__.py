"""Checks by language models: rubrics, and the critique of what no rule can decide."""
