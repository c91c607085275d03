"""The Python interface: suites read and played, and conversations simulated, outside of pytest and in its fixture."""
