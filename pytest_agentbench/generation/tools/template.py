"""Prompts of the roles that make scenarios from tools: templates, and a record that is nothing but data."""

import json
from collections.abc import Mapping
from random import Random
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.llm.templates import Templates

TEMPLATES = Templates("pytest_agentbench.generation.tools")

render = TEMPLATES.render


def asked(
    prompt: str, record: Any, random: Random, values: Mapping[str, str] | None = None, *, indent: int | None = None
) -> list[dict[str, Any]]:
    """Give the messages of a prompt with a record between delimiters that it cannot hold itself."""
    nonce = f"{random.getrandbits(64):016x}"
    text = json.dumps(json.loads(dumps(record)), ensure_ascii=False, indent=indent).replace(nonce, "")
    return [
        {"role": "system", "content": render(prompt, {"nonce": nonce, **(values or {})})},
        {"role": "user", "content": f"BEGIN {nonce}\n{text}\nEND {nonce}"},
    ]
