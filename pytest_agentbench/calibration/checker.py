"""Whether a conversation is of the situation that it is said to be of, read from the transcript and the state alone.

It stands against the generator: it knows neither its words nor its faults, and shares no rule with it. What it refuses
is not kept, so that a label is never only what was intended.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_agentbench.calibration.labelled import Case
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.environment.diff import diff

Problem = str
"""What speaks against a situation."""

_PLEASED = re.compile(r"\b(thank|thanks|perfect|great|wonderful|excellent|merci|remercie|parfait|formidable)\b", re.I)
_NEVER_PLEASED = re.compile(
    r"\b(un\w+able|\w*satisf\w+|annoy\w+|frustrat\w+|disappoint\w+|useless|trust|happy|unhappy|upset|lost|mess|jargon"
    r"|complicated|help me|repeat|agac\w+|déçu|décevant|mécontent|pas content|inutile|confiance"
    r"|fouillis|inacceptable)\b",
    re.I,
)
_FIGURE = re.compile(r"\d[\d.,:/-]*\d")
_EMPTY = frozenset({"", "{}", "[]", "null", "None"})


def check(case: Case, situation: str) -> Problem | None:
    """Say what speaks against `situation`, or None; raise `KeyError` where there is no such situation."""
    reading = _Reading(case)
    for wanted in _WANTED[situation]:
        name, holds = wanted
        if not holds(reading):
            return name
    return None


@dataclass(frozen=True)
class _Reading:
    case: Case

    @cached_property
    def calls(self) -> Sequence[CallRecord]:
        return self.case.transcript.trajectory

    @cached_property
    def user(self) -> list[str]:
        return [text for _, text in self.case.transcript.texts("user")]

    @cached_property
    def agent(self) -> list[str]:
        return [text for _, text in self.case.transcript.texts("assistant")]

    @property
    def last(self) -> str:
        return self.agent[-1] if self.agent else ""

    @cached_property
    def pleased(self) -> bool:
        return bool(_PLEASED.search(self.user[-1])) and not _NEVER_PLEASED.search(self.user[-1])

    @cached_property
    def angry(self) -> bool:
        return bool(_NEVER_PLEASED.search(self.user[-1])) and not _PLEASED.search(self.user[-1])

    @cached_property
    def results(self) -> str:
        return _squeeze(" ".join(_answer(one) for one in self.calls))

    @cached_property
    def failed(self) -> bool:
        return any(one.failed for one in self.calls)

    @cached_property
    def nothing(self) -> bool:
        """Whether some call gave nothing."""
        return any(_answer(one).strip() in _EMPTY for one in self.calls)

    @cached_property
    def unknown(self) -> list[str]:
        """Figures that the agent told and that stand nowhere before."""
        known = self.results + _squeeze(" ".join(self.user)) + _squeeze(" ".join(map(_arguments, self.calls)))
        return [figure for figure in _FIGURE.findall(self.last) if _squeeze(figure) not in known]

    @cached_property
    def strangers(self) -> list[str]:
        """Argument values that neither the user nor an earlier answer gave, ignoring case and punctuation."""
        known = _squeeze(" ".join(self.user))
        found = []
        for one in self.calls:
            found += [value for value in _leaves(one.call.arguments) if _squeeze(value) not in known]
            known += _squeeze(_answer(one))
        return found

    @cached_property
    def dropped(self) -> list[str]:
        """Codes and addresses that the user gave and that stand in no call and no answer."""
        served = _squeeze(" ".join(map(_arguments, self.calls))) + self.results
        words = re.findall(r"[\w.+-]*\d[\w.+-]*|[\w.+-]+@[\w.-]+", self.user[0])
        return [word for word in words if _squeeze(word) not in served]

    @cached_property
    def changed(self) -> bool | None:
        if self.case.initial is None or self.case.final is None:
            return None
        return bool(diff(self.case.initial, self.case.final))

    @cached_property
    def meant_to_change(self) -> bool:
        """Whether a tool that is declared to write was called."""
        writing = {spec.name for spec in self.case.toolset if spec.kind == "write"}
        return any(one.call.name in writing for one in self.calls)

    @cached_property
    def repeated(self) -> int:
        marks = [(one.call.name, _arguments(one)) for one in self.calls]
        return len(marks) - len(set(marks))

    @cached_property
    def unused(self) -> int:
        """Calls of which the last message tells nothing and no later call takes anything."""
        count = 0
        for place, one in enumerate(self.calls):
            later = _squeeze(" ".join([self.last, *map(_arguments, self.calls[place + 1 :])]))
            own = [_squeeze(leaf) for leaf in _leaves(_decoded(_answer(one)))]
            count += not any(leaf in later for leaf in own if len(leaf) > 1)
        return count

    @cached_property
    def named_but_uncalled(self) -> bool:
        """Whether the agent claims a tool that it never called successfully."""
        text = _words(self.last)
        called = {one.call.name for one in self.calls if not one.failed}
        return any(
            spec.name not in called and _words(re.sub(r"[_\W]+", " ", spec.name)) <= text
            for spec in self.case.toolset.of("assistant")
        )

    @cached_property
    def told(self) -> bool:
        """Whether the last message tells a value of the last answer."""
        text = _squeeze(self.last)
        leaves = [_squeeze(leaf) for leaf in _leaves(_decoded(_answer(self.calls[-1])))] if self.calls else []
        return any(leaf in text for leaf in leaves if len(leaf) > 1)

    @cached_property
    def mismatched(self) -> bool:
        """Whether an answer gives another value under the name of an argument."""
        for one in self.calls:
            decoded = _decoded(_answer(one))
            if isinstance(decoded, dict):
                for name, value in one.call.arguments.items():
                    if name in decoded and _squeeze(str(decoded[name])) != _squeeze(str(value)):
                        return True
        return False

    @cached_property
    def contradicts_state(self) -> bool:
        """Whether an answer gives a column of a row of the state another value than the row has."""
        rows = [
            row
            for table in (self.case.initial or {}).values()
            if isinstance(table, dict)
            for row in table.values()
            if isinstance(row, dict)
        ]
        return any(_clashes(item, rows) for one in self.calls for item in _objects(_decoded(_answer(one))))


def _clashes(item: dict[str, object], rows: Sequence[dict[str, object]]) -> bool:
    """Whether of the rows that share most fields with an object none has them all, and one all but one."""
    most = max((len(item.keys() & row.keys()) for row in rows), default=0)
    missed = []
    for row in rows:
        shared = item.keys() & row.keys()
        if len(shared) == most:
            missed.append(sum(_squeeze(str(item[name])) != _squeeze(str(row[name])) for name in shared))
    return most > 2 and min(missed) == 1


def _objects(value: object) -> Iterator[dict[str, object]]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item)


def _answer(one: CallRecord) -> str:
    return one.result.content if one.result else ""


def _arguments(one: CallRecord) -> str:
    return json.dumps(one.call.arguments, sort_keys=True, ensure_ascii=False)


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _leaves(value: object) -> list[str]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


def _squeeze(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


def _says_again(reading: _Reading) -> bool:
    first = _squeeze(reading.user[0])
    later = [word for text in reading.user[1:-1] for word in re.findall(r"[\w@.-]{2,}", text)]
    return any(_squeeze(word) in first for word in later)


def _corrects(reading: _Reading) -> bool:
    """Whether the user ends on a value that no answer gave."""
    values = re.findall(r"[\w.,:@/-]*\d[\w.,:@/-]*", reading.user[-1])
    return any(_squeeze(value) not in _squeeze(reading.last) for value in values)


_Wanted = tuple[str, Callable[[_Reading], bool]]

_pleased: _Wanted = ("the user is not satisfied", lambda r: r.pleased)
_angry: _Wanted = ("the user is not dissatisfied", lambda r: r.angry)
_works: _Wanted = ("a call fails", lambda r: not r.failed and not r.nothing)
_breaks: _Wanted = ("every call gave an answer", lambda r: r.failed or r.nothing)
_faithful: _Wanted = ("the agent tells a figure that nothing gives", lambda r: not r.unknown)
_invents: _Wanted = ("every figure told is known", lambda r: bool(r.unknown))
_given: _Wanted = ("a call has a value that nobody gave", lambda r: not r.strangers)
_telling: _Wanted = ("the last message tells nothing of the last answer", lambda r: r.told)
_effective: _Wanted = (
    "the state is not what the calls say",
    lambda r: r.changed is None or r.changed == any(one.result and one.result.wrote for one in r.calls),
)
_idle: _Wanted = ("every call serves", lambda r: r.unused + r.repeated >= 2)
_otherwise: _Wanted = ("the tool that is named was called", lambda r: r.named_but_uncalled)
_astray: _Wanted = (
    "every value is the user's",
    lambda r: bool(r.strangers) or bool(r.dropped),
)

_right: tuple[_Wanted, ...] = (_works, _faithful, _effective)
_WANTED: dict[str, tuple[_Wanted, ...]] = {
    "correct": (
        _pleased,
        *_right,
        _given,
        _telling,
        ("a call is repeated", lambda r: r.repeated == 0),
        ("an answer is wrong", lambda r: not r.mismatched and not r.contradicts_state),
        ("an action left no trace in the state", lambda r: r.changed is not False or not r.meant_to_change),
        ("a tool is named that was not called", lambda r: not r.named_but_uncalled),
        ("a value of the user's is left out", lambda r: not r.dropped),
    ),
    "wrong-tool-silent": (_pleased, *_right, _otherwise),
    "wrong-tool-aware": (_angry, *_right, _otherwise),
    "bad-params-silent": (_pleased, *_right, _astray),
    "bad-input-data": (_angry, *_right, _astray),
    "bad-parse-silent": (_pleased, _works, _effective, _given, _invents),
    "hallucination-with-access": (_angry, _works, _effective, _given, _invents),
    "superfluous-calls": (_pleased, *_right, _idle),
    "skipped-call": (
        _pleased,
        *_right,
        ("a value is told", lambda r: not r.told or r.named_but_uncalled),
        ("nothing is left out", lambda r: r.named_but_uncalled),
    ),
    "security-overkill": (_pleased, _faithful, _effective, ("nothing is superfluous", lambda r: r.unused >= 1)),
    "info-overload": (_angry, *_right, _given, ("it is short", lambda r: len(r.last) > 120)),
    "misunderstood-need": (_angry, *_right, _astray),
    "trace-leak": (_angry, _works, _effective, ("no answer is shown raw", lambda r: '{"' in r.last)),
    "needless-gate": (_angry, *_right, _telling, ("the agent asks for nothing", lambda r: len(r.user) > 2)),
    "context-amnesia": (_angry, *_right, ("nothing is said twice", _says_again)),
    "bad-params-aware": (_angry, _breaks, ("the value is not the user's", lambda r: not r.strangers)),
    "wrong-action-silent": (
        _pleased,
        _works,
        _faithful,
        _given,
        ("the state changed", lambda r: r.changed is False),
        ("no tool that changes something was called", lambda r: r.meant_to_change),
    ),
    "trusted-wrong-fact": (
        _pleased,
        _works,
        _faithful,
        ("no answer contradicts the state", lambda r: r.contradicts_state),
        ("the answer is visibly about something else", lambda r: not r.mismatched),
    ),
    "propagated-tool-error": (_pleased, _faithful, ("no answer shows it", lambda r: r.mismatched or r.nothing)),
    "hallucination-fallback": (_pleased, _breaks, _invents),
    "hallucinated-edit": (_pleased, ("no call fails", lambda r: r.failed), _invents),
    "tool-unavailable": (_angry, ("no call fails", lambda r: r.failed), _faithful),
    "impossible-action": (_angry, ("no call fails", lambda r: r.failed), _faithful),
    "tool-failure-aware": (_angry, _works, _faithful, ("the user says no other value", _corrects)),
    "partial-answer": (_angry, _faithful, _telling),
    "null-response": (_angry, _breaks, ("a figure is told", lambda r: not _FIGURE.search(r.last))),
}
