"""τ²'s DB and ENV_ASSERTION by replaying, as its evaluator does it (tau2-bench, evaluator_env.py, environment.py).

Two worlds are compared. In one every recorded call is made again that may change state: unknown tools and reads are
passed over, errors are answers, both toolkits are synchronised after each call and at the end. In the other the
expected calls are made, without synchronising, errors passed over. DB is 1 where both databases are equal; the
assertions are asked of the first world. For τ²'s reward texts of tools are never compared; for a verdict of our own
every call of a recording is made again, and must answer what it answered.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest, dumps
from pytest_agentbench.core.json_values import JsonValue, same
from pytest_agentbench.core.scenario import Task
from pytest_agentbench.core.state import State
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Requestor, ToolCall, ToolResult
from pytest_agentbench.environment.diff import describe
from pytest_agentbench.tau2.checkout import Source
from pytest_agentbench.tau2.world import World, beginning, same_content

_SHOWN = 100


class Replayed(Model):
    """What replaying showed: whether the databases are equal, and which assertions hold, in the task's order.

    An assertion is None where it raised; τ²'s own evaluator crashes there. `played` is False where the calls equal the
    expected ones, so that nothing had to be replayed. `origin` says whose worlds these were. `differences` are the rows
    in which the databases differ, each in a line.

    `final` and `expected` are the databases of both worlds, as far as either looked at them. `failed` says which
    expected calls (by position) fail. `difference` is the first answer that was another one than recorded.
    """

    db_match: bool
    assertions: tuple[bool | None, ...] = ()
    notes: tuple[str, ...] = ()
    played: bool = True
    origin: str = ""
    differences: tuple[str, ...] = ()
    final: State | None = None
    expected: State | None = None
    failed: dict[int, str] = {}
    difference: str = ""


class Replayer:
    """Replays conversations in the worlds of one source; each task's expected world is made once."""

    def __init__(self, source: Source, *, solo: bool = False) -> None:
        """`solo`: the expected calls are all the agent's, who has the user's tools, too."""
        self.source = source
        self._solo = solo
        self._expected: dict[str, tuple[World, dict[int, str]]] = {}

    def replay(
        self,
        task: Task,
        calls: Sequence[ToolCall],
        *,
        solo: bool = False,
        answers: Sequence[ToolResult | None] | None = None,
        whole: bool = False,
    ) -> Replayed:
        """Replay the calls of both parties, in the order made; `solo`: the agent had the user's tools.

        With the recorded `answers` every call is made again, those that change nothing, too, unless the calls that
        may change something are the expected ones. `whole` gives the databases as a whole. Raise
        `EnvironmentFaultError` where the task's initial state cannot be set up.
        """
        criteria = task.evaluation_criteria
        if criteria is None or (criteria.actions is None and criteria.env_assertions is None):
            return Replayed(db_match=True, played=False, origin=self.source.origin)
        wanted = list(criteria.env_assertions or ())
        made = [call for call in calls if self._counts(call)]
        expected, failed = self._expected_world(task)
        if not wanted and self._equals_expected(task, made):
            state = expected.dumped() if whole else {}
            return Replayed(
                db_match=True, played=False, origin=self.source.origin, final=state, expected=state, failed=failed
            )
        world = self.source.world(solo=solo)
        world.begin(beginning(task))
        difference = ""
        for place, call in enumerate(calls):
            counts = self._counts(call)
            if not counts and answers is None:
                continue
            looks = not counts and self.source.declares
            found = world.respond(call.name, call.requestor, call.arguments, looks=looks)
            if answers is not None and not difference:
                difference = _difference(place, call, answers[place], found, writes=counts)
        world.sync()
        states = world.beside(expected)
        db_match = same_content(*states)
        differences = () if db_match else tuple(map(describe, world.differences(*states)))
        if whole:
            states = world.dumped(), expected.dumped()
        notes: list[str] = []
        held = tuple(_holds(world, assertion, notes) for assertion in wanted)
        return Replayed(
            db_match=db_match,
            assertions=held,
            notes=tuple(notes),
            origin=self.source.origin,
            differences=differences,
            final=states[0],
            expected=states[1],
            failed=failed,
            difference=difference,
        )

    def _counts(self, call: ToolCall) -> bool:
        return self.source.knows(call.name) and self.source.mutates(call.name)

    def _equals_expected(self, task: Task, made: Sequence[ToolCall]) -> bool:
        """Whether the calls that may change state are the expected ones, one by one.

        Equal calls on equal worlds end in equal worlds, but for domains whose toolkits are synchronised after a
        conversation's calls and not after the expected ones.
        """
        criteria, initial = task.evaluation_criteria, task.initial_state
        if criteria is None or any(spec.requestor == "user" for spec in self.source.toolset):
            return False
        if initial is not None and initial.message_history:
            return False
        expected = [
            ToolCall(name=call.name, arguments=call.arguments, requestor=call.requestor)
            for call in criteria.actions or ()
        ]
        return [_text(call) for call in made] == [_text(call) for call in expected if self._counts(call)]

    def _expected_world(self, task: Task) -> tuple[World, dict[int, str]]:
        criteria = task.evaluation_criteria
        actions = (criteria.actions if criteria else None) or []
        initial = beginning(task)
        key = digest([initial.model_dump() if initial else None, [call.model_dump() for call in actions]])
        if key not in self._expected:
            world = self.source.world(solo=self._solo)
            world.begin(initial)
            for call in calls_of_history(initial.message_history if initial else None):
                if self._counts(call):
                    world.respond(call.name, call.requestor, call.arguments)
            world.sync()
            failed: dict[int, str] = {}
            for position, action in enumerate(actions):
                if not self.source.mutates(action.name):
                    continue
                try:
                    world.call(action.name, action.requestor, action.arguments)
                except Exception as error:  # noqa: BLE001 - τ² passes over whatever an expected call raises
                    failed[position] = printable(shorten(str(error), 300))
            self._expected[key] = (world, failed)
        return self._expected[key]


def _holds(world: World, assertion: Mapping[str, Any], notes: list[str]) -> bool | None:
    name = str(assertion.get("func_name"))
    try:
        found = world.function(str(assertion.get("env_type")), name, assertion.get("arguments") or {})
    except Exception as error:  # noqa: BLE001 - τ²'s evaluator would crash here; this one says so
        notes.append(f"assertion {name!r} raised {type(error).__name__}: {error}")
        return None
    if not isinstance(found, bool):
        notes.append(f"assertion {name!r} gave {type(found).__name__} instead of true or false")
        return None
    return found is bool(assertion.get("assert_value", True))


def _difference(
    place: int, call: ToolCall, recorded: ToolResult | None, found: tuple[str, bool], *, writes: bool
) -> str:
    """Say where a call answers something else than it did; an answer that was not recorded counts for a write."""
    if recorded is None and not writes:
        return ""
    if recorded is not None and same(_value(recorded.content), _value(found[0])) and recorded.failed == found[1]:
        return ""
    was = "no answer" if recorded is None else repr(shorten(recorded.content, _SHOWN))
    return printable(f"call {place + 1}, {call.name}, answered {was} then and {shorten(found[0], _SHOWN)!r} now")


def _value(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def calls_of_history(messages: Sequence[Mapping[str, Any]] | None) -> list[ToolCall]:
    """Give the calls of a task's message history, of both parties."""
    found: list[ToolCall] = []
    for message in messages or ():
        party: Requestor = "user" if message.get("role") == "user" else "assistant"
        for call in message.get("tool_calls") or ():
            fields = {"name": call["name"], "arguments": call.get("arguments") or {}}
            found.append(ToolCall.model_validate({**fields, "requestor": call.get("requestor") or party}))
    return found


def _text(call: ToolCall) -> str:
    return dumps([call.name, call.requestor, sorted(call.arguments.items())])
