"""Generation from tools."""
