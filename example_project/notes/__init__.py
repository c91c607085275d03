"""An agent over a folder of Markdown notes: a language model with tools, a planner, memories and reflection."""
