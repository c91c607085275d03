"""Planner and executor: a question becomes a plan, a plan becomes results, results become an answer."""
