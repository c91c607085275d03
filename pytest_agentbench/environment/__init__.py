"""Toolsets, the state they act on, isolation between runs, snapshots and where two states differ."""
