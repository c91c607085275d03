"""Readers of English and French prose that only generation still asks."""
