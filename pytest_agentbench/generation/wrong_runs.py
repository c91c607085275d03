"""The right run of a draft and its wrong runs as scripts: made of its own lines and calls, one rule broken each."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from pytest_agentbench.checks.reckoning import NotThereError, UnreckonedError, led_to
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.values import JsonValue, decoded
from pytest_agentbench.generation.draft import ANSWERS, Draft, PlannedCall, Turn, WrongRun
from pytest_agentbench.generation.language.guard import scalars_of
from pytest_agentbench.validation.oracle import DONE, HEARD, in_words
from pytest_agentbench.validation.rules import Rules
from pytest_agentbench.validation.scripted_run import FAILED, ScriptedRun, Step, numbered
from pytest_agentbench.validation.values import scalars

_RIGHT = WrongRun(kind="unsaid", change="nothing")


def script_of(draft: Draft, rules: Rules, run: WrongRun = _RIGHT) -> ScriptedRun:
    """Give the right run of a draft, or a wrong one, as a script; what rules ask the agent to say is said at the end.

    `Step.position` of a call is its number among the draft's, -1 for one that the wrong run makes besides.
    """
    steps: list[Step] = []
    number = 0
    for place, turn in enumerate(draft.turns):
        kind = run.kind if run.turn == place else ""
        if kind != "unasked":
            steps += [_agent_first(draft, turn, rules)] if place else []
            steps.append(_line(turn, is_declined=kind == "declined"))
        for call in turn.calls:
            if run.kind != "skipped" or run.skip != number:
                steps.append(_step(call, number))
            number += 1
        steps += _besides(run, turn.refused) if kind else []
    steps += _besides(run, ()) if run.turn is None else []
    words = [text for text in _words(draft, rules) if not run.text or run.text not in text]
    steps.append(Step(party="assistant", part="told", text=";\n".join([*words, DONE])))
    return numbered(steps)


def _line(turn: Turn, *, is_declined: bool) -> Step:
    """Give the line of a turn, as a no where the wrong run's user declines."""
    act = "decline" if is_declined and turn.act not in ("decline", "withdraw") else turn.act
    concerned = [scalars_of(dict(call.call.arguments)) for call in turn.calls or turn.refused]
    values = [value for several in concerned for value in several if value is not None]
    about = turn.about or tuple(values if turn.act in ANSWERS else ())
    return Step(party="user", part="line", text=turn.line, act=act, about=about)


def _besides(run: WrongRun, refused: Sequence[PlannedCall]) -> list[Step]:
    """Give the calls that a wrong run makes beside those of the right one."""
    if run.kind not in ("forbidden", "declined", "unasked"):
        return []
    return [_step(call, -1) for call in ((run.call,) if run.call is not None else refused)]


def _agent_first(draft: Draft, turn: Turn, rules: Rules) -> Step:
    """Say what the agent says before a turn: before an answer of the user's, what is to be done, with its values."""
    put = [tool_call(call) for call in (*turn.calls, *turn.refused)] if turn.act in ANSWERS else []
    changes = [call for call in put if rules.must_confirm(call)] or put
    said = "; ".join(in_words(call, _terms(draft, rules, call)) for call in changes)
    text = f"I would now make this change: {said}. Shall I proceed, yes or no?" if said else HEARD
    return Step(party="assistant", part="question" if said else "filler", text=text)


def _terms(draft: Draft, rules: Rules, call: ToolCall) -> list[JsonValue]:
    """Give what the user must hear beside the arguments: values of the last call that a rule says they stand in."""
    found: list[JsonValue] = []
    for around, term in rules.terms(call):
        fitting = [one for one in draft.calls if rules.is_about(around, tool_call(one))]
        found += _led(term, fitting[-1]) if fitting else []
    return found


def _words(draft: Draft, rules: Rules) -> Iterator[str]:
    """Give what a right agent says: what the user asked for, what is to be told, and what rules ask for."""
    yield from dict.fromkeys(one.text for turn in draft.turns for one in turn.wanted)
    yield from draft.communicate
    yield from rules.words([tool_call(call) for call in draft.calls])
    for call in draft.calls:
        for reference in rules.told(tool_call(call)):
            yield from (str(value) for _, value in scalars(_led(reference, call)))
    if any(fault.shows and not fault.calls for fault in draft.faults):
        yield FAILED


def _led(reference: JsonValue, call: PlannedCall) -> list[JsonValue]:
    """Give the value that a reference leads to in a planned call, none where there is nothing."""
    with suppress(NotThereError, UnreckonedError):
        return [led_to(reference, call.call.arguments, partial(decoded, call.answer))]
    return []


def _step(call: PlannedCall, number: int) -> Step:
    return Step(party="assistant", part="call", call=tool_call(call), position=number)


def tool_call(call: PlannedCall) -> ToolCall:
    """Give the call that a planned one is."""
    return ToolCall(name=call.call.name, arguments=dict(call.call.arguments), requestor=call.call.requestor)
