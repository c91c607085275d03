"""Prompt templates of judges."""

from pytest_agentbench.llm.templates import Templates

render = Templates("pytest_agentbench.checks.judges").render
