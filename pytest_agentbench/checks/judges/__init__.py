"""Checks by language models: rubrics, what a judge is shown, and the critique of endings."""
