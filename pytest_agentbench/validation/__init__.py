"""Validation of a suite without a model and without its agent: is each scenario right, passable, and worth running?"""
