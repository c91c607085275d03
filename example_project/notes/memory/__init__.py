"""What was said before: what to recall of it, and what a message refers to."""
