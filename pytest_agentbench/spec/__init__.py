"""The files that people write: how they are read, with positions, and what they may hold."""
