"""Messages as others shape them, read by one reader for agents, frameworks and logs: `reading.read(items)`."""
