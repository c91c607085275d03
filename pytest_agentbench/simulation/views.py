"""Who sees what: the agent's turn and the simulated user's view are cut from the run here and nowhere else."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_agentbench.core.approvals import Decision
from pytest_agentbench.core.conversation import Turn, View
from pytest_agentbench.core.json_values import leaves, same, to_json
from pytest_agentbench.core.matchers import holds_matcher
from pytest_agentbench.core.scenario import ExpectedCall, Scenario
from pytest_agentbench.core.tool import ToolCall, Toolset
from pytest_agentbench.core.transcript import CallRecord, Message, Transcript
from pytest_agentbench.messages.reader import read


def agent_turn(
    messages: Sequence[Message], results: Sequence[Message], *, session_id: str, context: Any, tools: Toolset
) -> Turn:
    """Give the agent the texts of both parties and its own calls; what the user did, meant and thought is its own."""
    visible = tuple(
        # most messages are plain texts, and every turn looks at all of them
        message if message.role != "user" else _spoken(message)
        for message in messages
        if message.role == "assistant" or _agent_sees(message)
    )
    text = "" if results else next((message.text for message in reversed(visible) if message.role == "user"), "")
    return Turn(
        message=text,
        messages=visible,
        results=tuple(results),
        decisions=() if results else _decisions(visible),
        session_id=session_id,
        context=context,
        tools=tools.of("assistant"),
    )


def user_view(
    scenario: Scenario,
    messages: Sequence[Message],
    *,
    begun: int,
    tools: Toolset,
    feedback: str = "",
    start: int = 0,
    sees_calls: bool = True,
) -> View:
    """Give the user the texts of both parties, its own calls and what it knows; never calls or thoughts of others.

    The first `begun` messages were exchanged before the run, those before `start` in earlier sessions. `feedback` says
    why what the user closed is not over. `sees_calls` False means that the agent's calls cannot be seen until it shows
    the first one.
    """
    story, told = scenario.task.user_scenario, scenario.instructions
    made = _made(messages[begun:])
    done = tuple(_written(made, tools, scenario))
    earlier = tuple(_heard(message) for message in messages[:start] if _user_sees(message))
    messages, begun = messages[start:], max(begun - start, 0)
    return View(
        messages=tuple(_heard(message) for message in messages if _user_sees(message)),
        feedback=feedback,
        begun=sum(_user_sees(message) for message in messages[:begun]),
        persona=story.persona if story else None,
        goal=told.reason_for_call or "",
        says=scenario.lines,
        knows=scenario.knows,
        also=scenario.also,
        known_info=told.known_info or "",
        unknown=(*scenario.unknown, *([told.unknown_info] if told.unknown_info else [])),
        task_instructions=told.task_instructions or "",
        tools=tools.of("user"),
        done=done,
        calls=len(made) if sees_calls or made else None,
        tried=sum(len(message.tool_calls) for message in messages if message.role == "assistant"),
        approvals=scenario.approvals,
        earlier=earlier,
    )


def _decisions(messages: Sequence[Message]) -> tuple[Decision, ...]:
    return next((message.decisions for message in reversed(messages) if message.role == "user"), ())


def _made(messages: Sequence[Message]) -> list[CallRecord]:
    """Give the agent's calls that did not fail."""
    every = Transcript(messages=tuple(messages)).trajectory
    return [one for one in every if one.call.requestor == "assistant" and one.result is not None and not one.failed]


def _written(made: Iterable[CallRecord], tools: Toolset, scenario: Scenario) -> Iterator[str | int | float]:
    """Give the values in the arguments of writes, each once for a call.

    A call of a tool of unknown kind counts as one where it is an expected one, also where it left the state as it was,
    and each of these once: what an agent looks up is not done, however often it looks.
    """
    ways = [list(way.expected_calls) for way in scenario.ways]
    for record in made:
        spec, effect = tools.get(record.call.name), record.result.wrote if record.result else None
        if not effect and (spec is None or spec.kind == "unknown"):
            effect = True in [_take(calls, record.call) for calls in ways]
        if effect or (effect is None and spec is not None and spec.kind == "write"):
            yield from dict.fromkeys(leaves(record.call.arguments))


def _take(expected: list[ExpectedCall], call: ToolCall) -> bool:
    """Take the first expected call out that a call may be, if any: with the arguments that it states."""
    for place, want in enumerate(expected):
        stated = {name: want.arguments[name] for name in want.compared if not holds_matcher(want.arguments[name])}
        given = {name: call.arguments[name] for name in stated if name in call.arguments}
        if want.name == call.name and same(to_json(stated), to_json(given)):
            del expected[place]
            return True
    return False


def _agent_sees(message: Message) -> bool:
    if message.role == "tool":
        return message.requestor == "assistant"
    return message.role != "user" or bool(message.text)


_OWN = {"tool_calls": (), "acts": None, "goal_items": (), "shows": (), "thoughts": None}
"""What of a message only its author knows."""


def _spoken(message: Message) -> Message:
    if all(getattr(message, name) == unset for name, unset in _OWN.items()):
        return message
    return message.model_copy(update=_OWN)


def _heard(message: Message) -> Message:
    return message if message.thoughts is None else message.model_copy(update={"thoughts": None})


def _user_sees(message: Message) -> bool:
    if message.role == "tool":
        return message.requestor == "user"
    return message.role == "user" or (message.role == "assistant" and not message.tool_calls and bool(message.text))


def history_of(scenario: Scenario) -> tuple[Message, ...]:
    """Give the messages that were exchanged before the run starts; empty for most scenarios.

    Suites whose histories cannot be read do not load.
    """
    initial = scenario.task.initial_state
    return tuple(read((initial and initial.message_history) or ()))
