"""The critic of the agent's own answers, and what a bad mark leads to."""
