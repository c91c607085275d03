"""An agent over a folder of Markdown notes: its tools, its planner, its memory and the critic of its answers."""
