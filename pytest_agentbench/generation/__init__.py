"""Scenarios written by recipe: from the tools of an environment, and from the policies an agent must keep."""
