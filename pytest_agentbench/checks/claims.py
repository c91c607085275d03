"""Claims without a source: figures, dates and ids in the agent's words that nothing which it has seen holds.

Values are found by their shape alone, so that any language will do: two digits and more, decimals, a currency sign, a
date, or letters and digits mixed; `ord-7` only where an id such as `ord-1` is known. What was seen is compared in every
spelling that code can make. A claim without a source is a flag: it decides nothing, since an agent may know a value
from where nobody looks.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from threading import Lock

from pytest_agentbench.checks.known_values import KnownValues, Token, tokens
from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.json_values import decoded, leaves, to_json
from pytest_agentbench.core.run import Run
from pytest_agentbench.core.state import State
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.core.verdict import CallExplanation, Flag
from pytest_agentbench.environment.structural_sharing import apart

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
_WHOLE_LINE = 400

_Found = tuple[int, str, Token]
"""The number of a line, the line, and a value in it."""


def claims_without_source(run: Run, prompt: str = "") -> tuple[Flag, ...]:
    """Give a flag for each value that the agent states, and that it has from nowhere; each value once.

    It may have a value from calls and results up to the end of its turn, the user's turns so far, the state, policies,
    tools, context, the clock, what the scenario wants said, and its system prompt, where it is known; or reckon it
    from those (see `KnownValues.derives`). Of a run whose calls are not seen nothing is told.
    """
    said, turns = run.transcript.texts("assistant"), run.transcript.turns
    sources = _Sources(run)
    if not any(map(str.isdigit, "".join(text for _, text in said))) or not sources.are_known:
        return ()
    ends = [next((at for at, turn in enumerate(turns) if turn > turns[index]), len(turns)) for index, _ in said]
    if all(_is_all_heard(sources, end, text) for (_, text), end in zip(said, ends, strict=True)):
        return ()
    sources = _Sources(run)
    sources.learn_outset(prompt)
    flags: dict[str, Flag] = {}
    for (index, text), end in zip(said, ends, strict=True):
        sources.hear(end)
        for line, token in _unknown(sources.known, text[:_MOST_SAID]):
            flags.setdefault(token.text, Flag(turn=turns[index], value=token.text, quote=_quote(line, token.text)))
    if flags and not sources.learn_states():
        return ()
    left = (flag for value, flag in flags.items() if not all(map(sources.rows.holds, tokens(value))))
    return tuple(islice(left, MOST_FLAGS))


def arguments_without_source(run: Run, prompt: str = "") -> Iterator[tuple[CallRecord, str]]:
    """Give each value that the agent passes to a tool and has from nowhere (see `claims_without_source`)."""
    sources = _Sources(run)
    if not sources.are_known:
        return
    sources.learn_outset(prompt)
    if not sources.learn_states():
        return
    for record in run.calls:
        sources.hear(record.message)
        for token in _tokens_of(record.call.arguments):
            if token.is_value and not sources.hold(token):
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
    telling = [
        (value, [one for one in _tokens_of(value) if one.is_value and (one.number is not None or not one.is_moment)])
        for value in wanted
    ]
    asked = [(value, found) for value, found in telling if found]
    sources = _Sources(run)
    if not asked or not called or not sources.are_known:
        return []
    # what is mostly enough comes first: each wrong run of a scenario is asked for the same values
    for learn in (
        lambda: sources.known.learn("\n".join(run.scenario.user_texts)),
        lambda: sources.hear(len(run.transcript.messages), but="assistant"),
        lambda: sources.learn_outset(prompt, wants=False),
        sources.learn_states,
    ):
        learn()
        asked = [(value, found) for value, found in asked if not any(map(sources.hold, found))]
        if not asked:
            return []
    return [value for value, _ in asked]


@dataclass
class _Rows:
    """The values in states, and the different texts with a digit that these come from."""

    values: KnownValues
    seen: set[str] = field(default_factory=set)

    def learn(self, state: object) -> None:
        """Learn the rows of a state, up to one text more than are looked at."""
        for leaf in _leaves(state):
            if len(self.seen) > _MOST_LEAVES:
                return
            if leaf not in self.seen and any(map(str.isdigit, leaf)):
                self.seen.add(leaf)
                self.values.add(leaf)


_BEGINNINGS: deque[tuple[State | None, _Rows]] = deque(maxlen=2)
"""The initial states that were read last: the runs of a suite share theirs, and reading a large one takes long."""

_READING = Lock()


def _begun(state: State | None, locale: str) -> _Rows:
    """Give the rows of an initial state, which nobody changes any more; nor may whoever gets them."""
    with _READING:
        for known, rows in _BEGINNINGS:
            if known is state and rows.values.locale == locale:
                return rows
        rows = _Rows(KnownValues(locale))
        rows.learn(state)
        _BEGINNINGS.append((state, rows))
        return rows


class _Sources:
    """What the agent of a run may have a value from: what it knows and hears (`known`), and the `rows` of the state."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.known = KnownValues(run.scenario.language or "en")
        self.rows = KnownValues(run.scenario.language or "en")
        self._heard = 0

    @property
    def are_known(self) -> bool:
        """Whether calls are seen, and there is not too much to look at."""
        length = 0
        for message in self.run.transcript.messages:
            length += len(message.text) + sum(len(dumps(call.arguments)) for call in message.tool_calls)
        return self.run.calls_visible and length <= _MOST_CHARACTERS

    def hold(self, token: Token) -> bool:
        """Whether a value stands there, or follows from what does."""
        return self.known.holds(token) or self.known.derives(token, ()) or self.rows.holds(token)

    def learn_outset(self, prompt: str, *, wants: bool = True) -> None:
        """Learn what the agent may know before the first word; `wants` tells whether what is to be told counts."""
        run = self.run
        sessions = range(1, max(len(run.scenario.sessions), 1) + 1)
        clock = [run.now + run.scenario.later(number) for number in sessions] if run.now else []
        moments = clock or [datetime.fromtimestamp(at, UTC) for at in run.played or ()]
        for text in (
            prompt,
            *(policy.text for policy in run.policies),
            *(run.scenario.communicate_info if wants else ()),
            *(f"{moment.date()} {moment:%H:%M}" for moment in moments),
        ):
            self.known.learn(text)
        tools = [to_json(spec.openai()) for spec in run.toolset.of("assistant")]
        self._add(*(policy.rule for policy in run.policies), *tools, to_json(run.scenario.context))

    def hear(self, end: int, but: str = "") -> None:
        """Learn what was said and given in the messages before an index, those of the role `but` left out."""
        for message in self.run.transcript.messages[self._heard : end]:
            value = decoded(message.text) if message.role == "tool" else message.text
            if message.role == but:
                continue
            if message.role in ("user", "tool") and isinstance(value, str):
                self.known.learn(value, is_heard=True)
            elif message.role == "tool":
                self._add(value, is_heard=True)
            self._add(*(to_json(call.arguments) for call in message.tool_calls), is_heard=True)
        self._heard = max(self._heard, end)

    def learn_states(self) -> bool:
        """Learn the rows of the run's states; False where there are too many to look at."""
        rows = _begun(self.run.initial_state, self.rows.locale)
        rows = _Rows(rows.values.copy(), set(rows.seen))
        for state in (self.run.final_state, *self.run.states):
            rows.learn(apart(state, self.run.initial_state)[0])
        self.rows = rows.values
        return len(rows.seen) <= _MOST_LEAVES

    def _add(self, *values: object, is_heard: bool = False) -> None:
        """Learn the leaves and the keys of values one by one, and how many entries each list has."""
        for leaf in (leaf for value in values for leaf in _leaves(value)):
            self.known.add(leaf, is_heard=is_heard)


def _tokens_of(value: object) -> Iterator[Token]:
    for leaf in leaves(to_json(value)):
        yield from tokens(str(leaf)[:_MOST_SAID])


def _is_all_heard(sources: _Sources, end: int, text: str) -> bool:
    """Whether all values of a message were heard before an index: that is quickly seen, and nothing need be learnt."""
    sources.hear(end)
    return all(map(sources.known.holds, (token for line in text[:_MOST_SAID].splitlines() for token in tokens(line))))


def _unknown(known: KnownValues, text: str) -> list[tuple[str, Token]]:
    """Give the values of a message that are not known, each with its line; sums of the message's own count as known."""
    every = ((place, line, token) for place, line in enumerate(text.splitlines()) for token in tokens(line))
    found: list[_Found] = list(islice(every, _MOST_VALUES))
    stated = [one for one in found if known.holds(one[2])]
    unknown = [one for one in found if (one[2].is_value or known.has_kind(one[2])) and not known.holds(one[2])][
        :_MOST_UNKNOWN
    ]
    for _ in range(_MOST_STEPS):
        # what the message states that is known counts by how near its line is
        derived = [
            one
            for one in unknown
            if known.derives(one[2], [token for *_, token in sorted(stated, key=lambda other: abs(other[0] - one[0]))])
        ]
        for one in derived:
            known.add(one[2].text)
        stated += derived
        unknown = [one for one in unknown if one not in derived]
        if not derived:
            break
    return [(line, token) for _, line, token in unknown]


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


def _quote(line: str, value: str) -> str:
    """Give the words around a value as the agent wrote them."""
    if len(line) <= _WHOLE_LINE:
        return line.strip()  # what stands under a secret's key is told by the key, which a cut could part from it
    place = max(line.casefold().find(value), 0)
    return line[max(place - _AROUND, 0) : place + len(value) + _AROUND].strip()
