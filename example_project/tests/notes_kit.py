"""What the tests of the notes agent share: a small vault, its tools bound to it, and a conversation with the agent."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from notes.agent import NotesAgent
from notes.cli import bound_tools
from notes.settings import read_settings
from notes.vault import Vault

VAULT = Path(__file__).with_name("notes_vault")


def tool(name: str, vault: Path = VAULT) -> Callable[..., str]:
    """Give one tool over a vault."""
    return next(one for one in bound_tools(Vault(vault)) if one.__name__ == name)


def agent(vault: Path = VAULT, **settings: Any) -> NotesAgent:
    """Give an agent by rules."""
    return NotesAgent(bound_tools(Vault(vault)), read_settings(**settings))


def talk(*lines: str, vault: Path = VAULT, **settings: Any) -> list[str]:
    """Say the lines to a new agent and give its replies."""
    return list(map(agent(vault, **settings).reply, lines))


def failing(name: str, times: int) -> list[Callable[..., str]]:
    """Give the tools, one of which raises that often before it works."""
    left = [times]

    def flaky(original: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(original)
        def call(**arguments: Any) -> str:
            if left[0]:
                left[0] -= 1
                raise ConnectionError("the disk is away")
            return original(**arguments)

        return call

    tools = bound_tools(Vault(VAULT))
    return [flaky(one) if one.__name__ == name else one for one in tools]
