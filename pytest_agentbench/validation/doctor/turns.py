"""Users that take turns across conversations, so that several sessions of an agent are open at once."""

import asyncio
from collections.abc import Sequence

from pytest_agentbench.core.conversation import Stop, UserTurn, View


class Turns:
    """The order in which conversations go on: each name once for every line that is said under it."""

    def __init__(self, order: Sequence[str]) -> None:
        self._left = list(order)
        self._changed = asyncio.Condition()

    async def wait(self, name: str) -> None:
        """Wait until it is this conversation's turn."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._left[:1] == [name])

    async def done(self, name: str) -> None:
        """End the turn of a conversation, once it was answered."""
        async with self._changed:
            if self._left[:1] == [name]:
                del self._left[0]
            self._changed.notify_all()

    async def leave(self, name: str) -> None:
        """Take a conversation that is over out of the order, however it ended."""
        async with self._changed:
            self._left = [one for one in self._left if one != name]
            self._changed.notify_all()


class Caller:
    """A user that says its lines, each when it is its turn, then closes (`core.seams.User`)."""

    def __init__(self, name: str, lines: Sequence[str], turns: Turns) -> None:
        self._name = name
        self._left = list(lines)
        self._turns = turns
        self._has_spoken = False

    async def reply(self, view: View) -> UserTurn:
        """Say the next line when the others have had their turns."""
        if self._has_spoken:
            await self._turns.done(self._name)
        if not self._left:
            return UserTurn(stop=Stop(reason="done"))
        await self._turns.wait(self._name)
        self._has_spoken = True
        return UserTurn(text=self._left.pop(0))
