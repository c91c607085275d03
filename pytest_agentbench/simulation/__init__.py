"""The conversation loop: who speaks, who sees what, and what closes a run."""
