"""What a plain run of the whole folder leaves out; each can be named on the command line."""

collect_ignore = ["generated.agentbench.yaml", "langgraph", "agents_sdk", "fastapi"]  # a recipe; other packages, a key
