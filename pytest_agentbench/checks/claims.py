"""Claims without a source: figures, dates and ids in the agent's words that nothing which it has seen holds.

Values are found by their shape alone, so that any language will do: two digits and more, decimals, a currency sign, a
date, or letters and digits mixed. What was seen is compared in every spelling that code can make. A claim without a
source is a flag: it decides nothing, since an agent may know a value from where nobody looks.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice

from pytest_agentbench.checks.known_values import KnownValues, Token, tokens
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.core.values import JsonValue, decoded, leaves, to_json
from pytest_agentbench.core.verdict import CallExplanation, Flag

MOST_FLAGS = 20
"""Flags of a run: an agent that makes up more is known by then."""

_MOST_CHARACTERS = 1_000_000
"""Characters of texts and results beyond which nothing is flagged: the source may lie there."""

_MOST_LEAVES = 200_000
"""Different values with a digit in the states of a run, beyond which nothing is flagged either."""

_MOST_SAID = 20_000
_MOST_VALUES = 300
_MOST_UNKNOWN = 20
_MOST_STEPS = 4
_AROUND = 80

_Found = tuple[int, str, Token]
"""The number of a line, the line, and a value in it."""


def claims_without_source(run: Run, prompt: str = "") -> tuple[Flag, ...]:
    """Give a flag for each value that the agent states, and that it has from nowhere; each value once.

    It may have a value from calls and results up to the end of its turn, the user's turns so far, the state, policies,
    tools, context, the clock, what the scenario wants said, and its system prompt, where it is known; or reckon it
    from those (see `KnownValues.derives`). Of a run whose calls are not seen nothing is told.
    """
    said = run.transcript.texts("assistant")
    if not run.calls_visible or not any(map(str.isdigit, "".join(text for _, text in said))) or _is_too_long(run):
        return ()
    known = KnownValues(run.scenario.language or "en")
    _learn_outset(known, run, prompt)
    flags: dict[str, Flag] = {}
    learnt = 0
    for index, text in said:
        turn = run.transcript.turns[index]
        while learnt < len(run.transcript.messages) and run.transcript.turns[learnt] <= turn:
            _learn_message(known, run, learnt)
            learnt += 1
        for line, token in _unknown(known, text[:_MOST_SAID]):
            flags.setdefault(token.text, Flag(turn=turn, value=token.text, quote=_quote(line, token.text)))
    rows = KnownValues(known.locale)
    if flags and not _learn_states(rows, run):
        return ()
    left = (flag for value, flag in flags.items() if not all(map(rows.holds, tokens(value))))
    return tuple(islice(left, MOST_FLAGS))


def arguments_without_source(run: Run, prompt: str = "") -> Iterator[tuple[CallRecord, str]]:
    """Give each value that the agent passes to a tool and has from nowhere (see `claims_without_source`)."""
    if not run.calls_visible or _is_too_long(run):
        return
    known, rows = KnownValues(run.scenario.language or "en"), KnownValues()
    _learn_outset(known, run, prompt)
    if not _learn_states(rows, run):
        return
    learnt = 0
    for record in run.calls:
        for index in range(learnt, record.message):
            _learn_message(known, run, index)
        learnt = max(learnt, record.message)
        for leaf in leaves(to_json(record.call.arguments)):
            for token in tokens(str(leaf)[:_MOST_SAID]):
                if token.is_value and not any((known.holds(token), known.derives(token, ()), rows.holds(token))):
                    yield record, token.text


def wanted_from_nowhere(run: Run, calls: Sequence[CallExplanation], prompt: str = "") -> list[object]:
    """Give the values that the scenario wants told, or in place of others in calls, and that nobody can know.

    Looked in are the user's texts, known values and turns, results, rows, policies, tools and context, and what follows
    from them by reckoning. A value counts by a word that is no date or time: `tomorrow` may stand for these. Of a run
    whose agent called nothing with success, left out an expected call, or has a lookup that it never called, nothing is
    told: it may not have looked.
    """
    if any(one.expected is not None and one.status in ("not_attempted", "substituted") for one in calls):
        return []
    called = {one.call.name for one in run.calls if not one.failed}
    if any(one.kind == "read" and one.name not in called for one in run.toolset.of("assistant")):
        return []
    wanted = [*run.scenario.communicate_info, *(value for call in calls for value, _ in call.differing.values())]
    asked = [(value, found) for value in wanted if (found := list(_looked_for(value)))]
    if not asked or all(one.failed for one in run.calls) or not run.calls_visible or _is_too_long(run):
        return []
    known, rows = KnownValues(run.scenario.language or "en"), KnownValues()

    def hear() -> None:
        for at, message in enumerate(run.transcript.messages):
            if message.role != "assistant":
                _learn_message(known, run, at)

    def is_held(token: Token) -> bool:
        return known.holds(token) or rows.holds(token) or known.derives(token, ())

    # what is mostly enough comes first: each wrong run of a scenario is asked for the same values
    for learn in (
        lambda: known.learn("\n".join(run.scenario.user_texts)),
        hear,
        lambda: _learn_outset(known, run, prompt, wants=False),
        lambda: _learn_states(rows, run),
    ):
        learn()
        asked = [(value, found) for value, found in asked if not any(map(is_held, found))]
        if not asked:
            return []
    return [value for value, _ in asked]


def _looked_for(value: object) -> Iterator[Token]:
    for leaf in leaves(to_json(value)):
        for token in tokens(str(leaf)[:_MOST_SAID]):
            if token.is_value and (token.number is not None or not (token.dates or token.time)):
                yield token


def _unknown(known: KnownValues, text: str) -> list[tuple[str, Token]]:
    """Give the values of a message that are not known, each with its line; sums of the message's own count as known."""
    found = [(place, line, token) for place, line in enumerate(text.splitlines()) for token in tokens(line)][
        :_MOST_VALUES
    ]
    stated = [one for one in found if known.holds(one[2])]
    unknown = [one for one in found if one[2].is_value and not known.holds(one[2])][:_MOST_UNKNOWN]
    for _ in range(_MOST_STEPS):
        derived = [one for one in unknown if known.derives(one[2], _nearest(one, stated))]
        for one in derived:
            known.add(one[2].text)
        stated += derived
        unknown = [one for one in unknown if one not in derived]
        if not derived:
            break
    return [(line, token) for _, line, token in unknown]


def _nearest(one: _Found, stated: Iterable[_Found]) -> list[Token]:
    """Give what a message states that is known, the lines nearest to a value first."""
    return [token for _, _, token in sorted(stated, key=lambda other: abs(other[0] - one[0]))]


def _learn_outset(known: KnownValues, run: Run, prompt: str, *, wants: bool = True) -> None:
    """Learn what the agent may know before the first word; `wants` tells whether what is to be told counts."""
    known.learn(prompt)
    for policy in run.policies:
        known.learn(policy.text)
        _learn_value(known, policy.rule)
    for spec in run.toolset.of("assistant"):
        _learn_value(known, to_json(spec.openai()))
    _learn_value(known, to_json(run.scenario.context))
    for info in run.scenario.communicate_info if wants else ():
        known.learn(info)
    moments = [run.now] if run.now else [datetime.fromtimestamp(at, UTC) for at in run.played or ()]
    for moment in moments:
        known.learn(f"{moment.date()} {moment:%H:%M}")


def _learn_message(known: KnownValues, run: Run, index: int) -> None:
    message = run.transcript.messages[index]
    if message.role == "user":
        known.hear(message.text)
    elif message.role == "tool" and isinstance(value := decoded(message.text), str):
        known.hear(value)
    elif message.role == "tool":
        _learn_value(known, value, is_heard=True)
    for call in message.tool_calls:
        _learn_value(known, to_json(call.arguments), is_heard=True)


def _learn_value(known: KnownValues, value: JsonValue, *, is_heard: bool = False) -> None:
    """Learn the leaves and the keys of a value one by one, and how many entries each list has."""
    for leaf in _leaves(value):
        known.add(leaf, is_heard=is_heard)


def _leaves(value: object) -> Iterator[str]:
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            yield from map(str, one)
            left.extend(one.values())
        elif isinstance(one, list | tuple):
            yield str(len(one))
            left.extend(one)
        elif isinstance(one, str | int | float) and not isinstance(one, bool):
            yield str(one)


def _learn_states(rows: KnownValues, run: Run) -> bool:
    """Learn the rows of the run's states; False where there are too many to look at."""
    seen: set[str] = set()
    for state in (run.initial_state, run.final_state, *run.states):
        for leaf in _leaves(state):
            if leaf in seen or not any(map(str.isdigit, leaf)):
                continue
            if len(seen) == _MOST_LEAVES:
                return False
            seen.add(leaf)
            rows.add(leaf)
    return True


def _is_too_long(run: Run) -> bool:
    length = 0
    for message in run.transcript.messages:
        length += len(message.text) + sum(len(dumps(call.arguments)) for call in message.tool_calls)
    return length > _MOST_CHARACTERS


def _quote(line: str, value: str) -> str:
    """Give the words around a value as the agent wrote them."""
    place = max(line.casefold().find(value), 0)
    return line[max(place - _AROUND, 0) : place + len(value) + _AROUND].strip()
