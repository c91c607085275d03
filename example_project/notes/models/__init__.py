"""Reaching models, and the log of what each call cost."""
