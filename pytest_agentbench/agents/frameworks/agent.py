"""A framework's agent as an `Agent`: one session a run, its failures told apart, its silence never an answer."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from pytest_agentbench.agents.failure import guard, guard_sync
from pytest_agentbench.agents.frameworks.context import lacking
from pytest_agentbench.agents.frameworks.session import Answered, Choosy, Deciding, Session, Spent, answered_only
from pytest_agentbench.agents.replies import Returned, settle, typed
from pytest_agentbench.core.conversation import Reply, Turn
from pytest_agentbench.core.errors import AgentBenchError, AgentError
from pytest_agentbench.core.protocols import RunSync
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.content import shown


class FrameworkAgent:
    """The agent of one run, on a session of a framework's; `reply` raises only `AgentBenchError`s and cancellation.

    Its calls are visible: frameworks tell what their agents called. Those of an agent behind a tool they do not tell
    (`hides_calls`), unless it `has_tools` of the environment, which do. `framework` is the framework's name.
    """

    def __init__(
        self,
        session: Session,
        *,
        framework: str,
        context: Any = None,
        takes_tools: bool = False,
        run_sync: RunSync,
        root: Path | None = None,
    ) -> None:
        self.framework = framework
        self.hides_calls = False
        self.has_tools = takes_tools
        self._session = session
        self._context = context
        self._run_sync = run_sync
        self._root = root
        self._spent = Spent()
        self._number = 0

    @property
    def calls_visible(self) -> bool:
        """Whether all calls so far can be seen."""
        return not self.hides_calls

    @property
    def shows(self) -> frozenset[str]:
        """What the framework would tell if it were there: *handoffs*, *output*."""
        return getattr(self._session, "shows", frozenset())

    @property
    def unfinished(self) -> Sequence[Message]:
        """What was done in a turn that broke off, as far as the framework tells."""
        return answered_only(getattr(self._session, "begun", ()))

    async def reply(self, turn: Turn) -> Reply:
        """Answer the user.

        Raise `AgentError` where the framework raises or ends its run without an answer, `ProviderError` where the
        server of its model failed, `SuiteFaultError` where the agent needs a context that the suite does not give.
        """
        self._number += 1
        if self._number == 1 and isinstance(self._session, Choosy):
            await guard(self._session.fit(self._run_sync), root=self._root)
        answered = await self._answered(turn)
        self._spent.add(answered)
        self.hides_calls |= answered.hides_calls and not self.has_tools
        messages = tuple(answered.messages)
        if not messages or messages[-1].role != "assistant" or not messages[-1].text.strip():
            raise AgentError(f"the {self.framework} run ended without an answer: {_silence(messages, answered.reason)}")
        returned = Returned(messages=messages, listed=True, metrics=self._spent.metrics, output=typed(answered.output))
        return settle(returned, turn, earlier=(), number=self._number)

    async def _answered(self, turn: Turn) -> Answered:
        session = self._session
        work: Callable[[], Answered | Awaitable[Answered]] = partial(session.answer, turn.message)
        if turn.decisions and isinstance(session, Deciding):
            work = partial(session.decide, turn.decisions, turn.message)
        if inspect.iscoroutinefunction(work):
            return await guard(self._awaited(cast("Callable[[], Awaitable[Answered]]", work)), root=self._root)
        answer = cast("Callable[[], Answered]", work)
        return await guard_sync(lambda: self._told_apart(answer), self._run_sync, root=self._root)

    async def _awaited(self, work: Callable[[], Awaitable[Answered]]) -> Answered:
        try:
            return await work()
        except Exception as error:
            if failed := self._lacking(error):
                raise failed from error
            raise

    def _told_apart(self, work: Callable[[], Answered]) -> Answered:
        try:
            return work()
        except Exception as error:
            if failed := self._lacking(error):
                raise failed from error
            raise

    def _lacking(self, error: Exception) -> Exception | None:
        return None if isinstance(error, AgentBenchError) else lacking(error, self._context)


def _silence(messages: tuple[Message, ...], reason: str) -> str:
    """Say why there is no answer, as far as the messages or the framework tell."""
    if reason:
        return reason
    last = messages[-1] if messages else None
    if last is None:
        return "it gave no message"
    if last.role == "tool":
        return f"its last message is the tool result {shown(last.text)}"
    broken = next((call for call in last.tool_calls if call.raw is not None), None)
    if broken is not None:
        return f"its model called {broken.name} with arguments that are no JSON object: {shown(broken.raw)}"
    if last.tool_calls:
        return f"the call of {last.tool_calls[-1].name} was not executed"
    return "its last message is empty"
