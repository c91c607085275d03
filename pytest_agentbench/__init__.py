"""Regression tests for tool-using conversational agents, as ordinary pytest items."""
