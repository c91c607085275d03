"""Suites for agents of other people, and the models that are scripted for them."""
