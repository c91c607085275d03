"""A pool of verified calls, the only source of arguments beside earlier results."""
