"""Faults at the boundary between agent and tools: which call is struck, what is done to it, and what was met."""
