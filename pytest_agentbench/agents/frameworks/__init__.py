"""Agents that frameworks made, used as they are: one file for each framework, none of which is imported from here."""
