"""The user's reply function as an `Agent`: its parameters, what each is given, on the loop or in the run's thread."""

import inspect
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any, cast
from weakref import WeakKeyDictionary

from pytest_agentbench.agents.failure import failure, guard, guard_sync
from pytest_agentbench.agents.refusals import filtered, refusal
from pytest_agentbench.agents.replies import read, settle
from pytest_agentbench.core.conversation import Reply, Turn
from pytest_agentbench.core.errors import AgentError, SuiteFaultError
from pytest_agentbench.core.protocols import RunSync
from pytest_agentbench.core.transcript import Message
from pytest_agentbench.messages.content import shown
from pytest_agentbench.messages.handoffs import last_sender, with_handoffs

UserFunction = Callable[..., Any]
"""Code of the user; it takes what its parameters name and returns anything."""

_ORDERED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parameters(function: UserFunction) -> list[inspect.Parameter] | None:
    """Give the parameters that a caller may fill, or None where Python cannot tell (some builtins)."""
    if (known := _PARAMETERS.get(function) if isinstance(function, FunctionType) else None) is not None:
        return list(known)
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    if isinstance(function, FunctionType) and function.__closure__ is None:  # the factory of all runs
        _PARAMETERS[function] = tuple(found)
    return found


_PARAMETERS: WeakKeyDictionary[FunctionType, tuple[inspect.Parameter, ...]] = WeakKeyDictionary()


def declares(function: UserFunction, name: str) -> bool:
    """Whether `function` has a parameter of this name; `**kwargs` does not count."""
    return has_parameter(parameters(function), name)


def has_parameter(given: Iterable[inspect.Parameter] | None, name: str) -> bool:
    """Whether a parameter of this name is among those of a function; to read these takes a while."""
    return any(parameter.name == name and is_single(parameter) for parameter in given or ())


def requires(function: object, name: str) -> bool:
    """Whether what can be called has a parameter of this name and no default for it."""
    if not callable(function):
        return False
    return any(parameter.name == name and is_required(parameter) for parameter in parameters(function) or ())


def untaken(function: object, keywords: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Give each keyword that what can be called does not take, and the names of what it takes."""
    given = parameters(function) if callable(function) else None
    if given is None:
        return
    names = [parameter.name for parameter in given if is_single(parameter)]
    if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in given):
        yield from ((keyword, names) for keyword in keywords if keyword not in names)


def is_single(parameter: inspect.Parameter) -> bool:
    """Whether the parameter takes one value, so is neither `*args` nor `**kwargs`."""
    return parameter.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def is_required(parameter: inspect.Parameter) -> bool:
    """Whether a call without the parameter fails."""
    return is_single(parameter) and parameter.default is inspect.Parameter.empty


def is_async(function: UserFunction) -> bool:
    """Whether calling `function` gives a coroutine: an async function, method, partial or `__call__`."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def fill(given: list[inspect.Parameter], values: dict[str, object]) -> tuple[list[object], dict[str, object]]:
    """Split `values` by parameter name into positional and keyword arguments; what is left out keeps its default.

    A value for `*args` goes there as one argument, and then all parameters before it are positional.
    """
    rest = [parameter for parameter in given if parameter.kind is inspect.Parameter.VAR_POSITIONAL]
    ordered = given[: given.index(rest[0])] if rest and rest[0].name in values else given
    kinds = _ORDERED if ordered is not given else (inspect.Parameter.POSITIONAL_ONLY,)
    first = [parameter for parameter in ordered if parameter.kind in kinds]
    positional = [values.get(parameter.name, parameter.default) for parameter in first]
    positional += [values[parameter.name] for parameter in rest if parameter.name in values]
    names = {parameter.name for parameter in [*first, *rest]}
    return positional, {name: value for name, value in values.items() if name not in names}


def declares_tools(function: UserFunction) -> bool:
    """Whether a factory or reply function takes the environment's tools, so has a parameter named `tools`."""
    return declares(function, "tools")


async def call_user(
    function: UserFunction,
    positional: list[object],
    keywords: dict[str, object],
    *,
    run_sync: RunSync,
    root: Path | None = None,
    then: Callable[[object], object] | None = None,
) -> object:
    """Call `function` and give what it returns; raise `AgentError` for whatever it raises.

    An awaitable that a sync function returns is awaited on the loop. `then` is sync and gets what came of it, in the
    run's thread: in the step of the function itself where that is sync, too.
    """

    def called() -> tuple[object, bool]:
        made = function(*positional, **keywords)
        if inspect.isawaitable(made):
            return made, False
        return then(made) if then else made, True

    if is_async(function):
        made = await guard(_awaited(function, positional, keywords), root=root)
    else:
        made, is_done = await guard_sync(called, run_sync, root=root)
        if is_done:
            return made
        made = await guard(cast("Awaitable[object]", made), root=root)
    return await guard_sync(lambda: then(made), run_sync, root=root) if then else made


async def _awaited(function: UserFunction, positional: list[object], keywords: dict[str, object]) -> object:
    process = os.getpid()
    try:
        return await function(*positional, **keywords)
    finally:
        if os.getpid() != process:  # it forked and came back twice: the session goes on in the parent alone
            os._exit(0)


GIVEN: dict[str, Callable[[Turn], object]] = {
    "message": lambda turn: turn.message,
    "messages": lambda turn: [message.openai() for message in turn.messages],
    "turn": lambda turn: turn,
    "results": lambda turn: [message.openai() for message in turn.results],
    "decisions": lambda turn: [decision.model_dump() for decision in turn.decisions],
    "session_id": lambda turn: turn.session_id,
    "context": lambda turn: dict(turn.context) if isinstance(turn.context, Mapping) else turn.context,
    "tools": lambda turn: [tool.openai() for tool in turn.tools],
}
"""What a reply function may declare; messages, results and tools come in the OpenAI format."""

_TEXT = inspect.Parameter("message", inspect.Parameter.POSITIONAL_ONLY)
"""What a callable is taken to declare when Python cannot tell."""

_SPEECH = frozenset({"message", "messages", "turn"})
_RESULTS = frozenset({"messages", "results", "turn"})


class AdaptedAgent:
    """The agent of one run, whatever the user wrote; `reply` raises only `AgentBenchError`s and cancellation.

    `takes_tools` says that the environment's tools were given to it, `has_tools` that it can call them. `saw_calls`
    turns true once it returns a tool call, or a list of messages, in which its calls would show.
    """

    def __init__(
        self,
        function: UserFunction,
        *,
        run_sync: RunSync,
        takes_tools: bool = False,
        shows_calls: bool | None = None,
        root: Path | None = None,
    ) -> None:
        """Plan how `function` is called; raise `SuiteFaultError` where its parameters cannot be filled.

        `shows_calls` is what the agent itself declares about its calls; None leaves it to what is seen.
        """
        declared = parameters(function)
        self.takes_tools = self.has_tools = takes_tools
        self.saw_calls = False
        self._function = function
        self._run_sync = run_sync
        self._shows_calls = shows_calls
        self._root = root
        self._parameters = [_TEXT] if declared is None else declared
        self._sources = _sources(self._parameters)
        self._earlier: tuple[Message, ...] = ()
        self._sender: str | None = None
        self._number = 0

    @property
    def calls_visible(self) -> bool:
        """Whether the agent's tool calls can be seen: as it declares, else as far as is known by now.

        An agent that only ever gave text and takes no tools may have called anything; what it did is not known.
        """
        return self.takes_tools or self.saw_calls if self._shows_calls is None else self._shows_calls

    async def reply(self, turn: Turn) -> Reply:
        """Answer the user, or go on after results; raise `AgentError` if the agent raises or its answer is unusable."""
        if turn.results and _RESULTS.isdisjoint(self._sources.values()):
            raise AgentError(
                "the agent returned tool calls without results, and its reply function cannot receive the results: "
                "declare `messages`, `results` or `turn`, or return the calls together with their results"
            )
        self.takes_tools |= bool(turn.tools) and "tools" in self._sources
        self._number += 1
        try:
            returned = read(await self._call(turn))
        except AgentError as error:
            if (event := filtered(error)) is None:
                raise
            self._sender = None
            return Reply(messages=(refusal(event),))
        reply = settle(returned, turn, earlier=self._earlier, number=self._number)
        self._earlier = returned.messages
        self.saw_calls |= returned.listed or any(message.tool_calls for message in reply.messages)
        messages = tuple(with_handoffs(reply.messages, self._sender))
        self._sender = last_sender(messages, self._sender)
        return reply.model_copy(update={"messages": messages})

    async def _call(self, turn: Turn) -> object:
        values = {name: GIVEN[source](turn) for name, source in self._sources.items()}
        positional, keywords = fill(self._parameters, values)
        return await call_user(self._function, positional, keywords, run_sync=self._run_sync, root=self._root)


def adapt(made: object, *, run_sync: RunSync, takes_tools: bool = False, root: Path | None = None) -> AdaptedAgent:
    """Make an `Agent` of an object with `reply`, or of a callable; raise `SuiteFaultError` for anything else.

    A bool attribute `calls_visible` of the object or function declares whether its replies show every tool call.
    """
    reply = _attribute(made, "reply", root)
    function = reply if callable(reply) else made
    if isinstance(made, type) or not callable(function):
        raise SuiteFaultError(
            f"{type(made).__name__} {shown(made)} is no agent; "
            "an agent is an object with a method `reply`, or a callable"
        )
    declared = _attribute(made, "calls_visible", root)
    shows_calls = declared if isinstance(declared, bool) else None
    return AdaptedAgent(function, run_sync=run_sync, takes_tools=takes_tools, shows_calls=shows_calls, root=root)


def _attribute(made: object, name: str, root: Path | None) -> object:
    try:
        return getattr(made, name, None)
    except BaseException as error:
        raise failure(error, root=root) from error


def _sources(given: list[inspect.Parameter]) -> dict[str, str]:
    """Map each parameter to what fills it; raise `SuiteFaultError` where one must be filled and has no known name."""
    sources = {p.name: p.name for p in given if is_single(p) and p.name in GIVEN}
    sources |= {p.name: "turn" for p in given if is_single(p) and p.name not in GIVEN and _is_turn(p)}
    if _SPEECH.isdisjoint(sources.values()):
        others = (p for p in given if p.name not in sources and p.kind is not inspect.Parameter.VAR_KEYWORD)
        other = next(others, None)
        if other is None:
            raise SuiteFaultError(
                f"the reply function {_shown(given)} takes no message; declare one of {', '.join(GIVEN)}"
            )
        sources[other.name] = "message"
    unknown = [p.name for p in given if is_required(p) and p.name not in sources]
    if unknown:
        raise SuiteFaultError(
            f"the reply function {_shown(given)} requires {', '.join(unknown)}, which nothing fills; "
            f"its parameters may be {', '.join(GIVEN)}"
        )
    return sources


def _is_turn(parameter: inspect.Parameter) -> bool:
    hint = parameter.annotation
    return hint is Turn or (isinstance(hint, str) and hint.rpartition(".")[2] == "Turn")


def _shown(given: list[inspect.Parameter]) -> str:
    return f"({', '.join(str(parameter.name) for parameter in given)})"
