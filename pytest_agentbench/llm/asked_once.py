"""A model that is asked each question once, however many roles ask it."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.model import Usage
from pytest_agentbench.llm.capabilities import Capabilities, Form, KnowsCapabilities
from pytest_agentbench.llm.reply import ChatReply
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.llm.turns import Paused


class AskedOnce:
    """Implements `Chat`: equal questions share one answer, so that contenders differ in nothing but what they change.

    An ablation of the weights, say, is computed from the very scores that the whole method got. Not for votes.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self.spec = chat.spec
        self._asked: dict[str, asyncio.Task[ChatReply]] = {}
        knows = chat if isinstance(chat, KnowsCapabilities) else None
        self.capabilities = knows.capabilities if knows else Capabilities()
        self.paused: Paused = knows.paused if knows else nullcontext
        self.understood: Callable[[Form], None] = knows.understood if knows else self.capabilities.understood

    @property
    def usage(self) -> Usage:
        """What the questions took."""
        return self._chat.usage

    async def complete(self, messages: Sequence[dict[str, Any]], **options: Any) -> ChatReply:
        """Ask, or give what an equal question was answered; raise what `complete` of the model raises."""
        mark = dumps([list(messages), options])
        if mark not in self._asked:
            self._asked[mark] = asyncio.ensure_future(self._chat.complete(messages, **options))
        return await asyncio.shield(self._asked[mark])
