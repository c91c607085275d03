"""The notes agent with models in its roles, over any OpenAI-compatible server."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from notes.agent import NotesAgent
from notes.library import Tool
from notes.models.client import Client
from notes.models.costs import CostLog
from notes.models.playing import model_roles
from notes.settings import Settings, SettingsError, read_settings

LOCAL = "http://localhost:11434/v1"
"""Where a local Ollama serves (paper §1.5.2)."""


def build(
    tools: Sequence[Tool],
    session_id: str = "",
    *,
    base_url: str = LOCAL,
    model: str = "",
    api_key: str = "",
    config: str | None = None,
    **settings: Any,
) -> Callable[[str], dict[str, Any]]:
    """Build an agent for one conversation; `model` plays every role that the setting `models` gives to no other."""
    chosen = read_settings(config, **settings)
    return model_agent(tools, chosen, base_url=base_url, model=model, api_key=api_key, session_id=session_id).message


def model_agent(
    tools: Sequence[Tool],
    settings: Settings,
    *,
    base_url: str = LOCAL,
    model: str = "",
    api_key: str = "",
    session_id: str = "",
) -> NotesAgent:
    """Give the agent itself; without `api_key` the key is `OPENAI_API_KEY`. `SettingsError`: no model or address."""
    if not base_url.startswith(("http://", "https://")):
        raise SettingsError(f"base_url is {base_url!r}; it must begin with http:// or https://")
    models = {**({"default": model} if model else {}), **(settings.models or {})}
    if not models:
        raise SettingsError("no model is named; give model, or models: {default: …} in the configuration")
    log = CostLog(file=Path(settings.costs) if settings.costs else None, session=session_id)
    client = Client(
        base_url=base_url,
        models=models,
        log=log,
        api_key=api_key or os.environ.get("OPENAI_API_KEY", ""),
        seconds=settings.seconds,
    )
    roles = model_roles(client, {tool.__name__: tool for tool in tools})
    return NotesAgent(tools, settings, roles=roles, log=log)
