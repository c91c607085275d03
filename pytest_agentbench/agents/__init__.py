"""Adapters for the agent under test: whatever the user wrote becomes a `core.protocols.Agent`."""
