"""Prompt templates of the roles that make scenarios from tools."""

from pytest_agentbench.llm.templates import Templates

TEMPLATES = Templates("pytest_agentbench.generation.tools")

render = TEMPLATES.render
