"""The auditor: one question to a judge model about a closed run, and what code makes of its observations."""
