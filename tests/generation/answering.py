"""Recorded answers given again, in the order in which each role gave them, whatever its requests name things today.

A cassette answers equal requests alone, and requests hold the words that values are called by: each better word would
ask for new recordings. Prompts are held equal here, data are not; what comes of the answers is checked anew.
"""

import re
from collections import deque
from pathlib import Path
from typing import Any

from pytest_agentbench.llm.cassette.file import Exchange, read_cassette
from pytest_agentbench.testing.request import ModelRequest

_NONCE = re.compile(r"\b[0-9a-f]{16}\b")


class Again:
    """Answers a request with what the role that has its prompt said next; there is nothing for any other prompt."""

    def __init__(self, cassette: Path) -> None:
        self._left: dict[str, deque[Exchange]] = {}
        for exchange in read_cassette(cassette).exchanges():
            self._left.setdefault(exchange.role, deque()).append(exchange)

    def __call__(self, request: ModelRequest) -> str:
        """Give the answer; raise `LookupError` for a prompt that was not recorded next for any role."""
        prompt = _prompt(request.messages)
        for listed in self._left.values():
            if listed and _prompt(listed[0].request["messages"]) == prompt:
                response: Any = listed.popleft().response
                return str(response["choices"][0]["message"]["content"])
        raise LookupError(f"the prompt is not that of the next recorded request: {prompt[:80]!r}")

    @property
    def left(self) -> dict[str, int]:
        """How many answers of which role were not asked for."""
        return {role: len(listed) for role, listed in self._left.items() if listed}


def _prompt(messages: Any) -> str:
    return _NONCE.sub("~", str(messages[0]["content"]))
