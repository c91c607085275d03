"""Walks through the tool graph: weights, sampling, coverage."""
