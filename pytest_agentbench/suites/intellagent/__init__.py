"""IntellAgent's files: read, and held against themselves."""
