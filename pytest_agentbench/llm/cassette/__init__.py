"""Cassettes: model answers kept in a file beside the suite, and given again for the same requests."""
