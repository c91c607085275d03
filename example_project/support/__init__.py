"""The support desk of a small online shop: its tools, its policies and the agent that answers customers."""
