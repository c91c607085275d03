"""The vocabulary as types, the seams between the floors, and the exception tree. No I/O."""
