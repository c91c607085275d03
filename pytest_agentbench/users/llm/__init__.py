"""The simulated user that a language model plays, and the guard rails that check what it says."""
