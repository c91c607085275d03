"""Labelled conversations that a model writes and another one lets through, beside those that are played."""
