"""Logs of other systems, read one conversation at a time, and what an import writes."""
