"""The policy graph: which policies matter together, and how hard each is to keep."""
