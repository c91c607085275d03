"""Modifiers of an LLM-backed simulated user: whether they fit a scenario, what they change, whether they showed."""
