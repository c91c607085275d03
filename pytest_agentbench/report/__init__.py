"""Results as text for people: the terminal report, and one failing run as an assertion reads."""
