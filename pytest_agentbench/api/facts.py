"""Facts about a simulated conversation that a test can assert: true or false, and in words with the turn that shows it.

Python's `assert` shows the words. What was not measured is neither true nor false: asking for it raises
`NotMeasuredError`, which names the role that would measure it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn, TypeVar

from pytest_agentbench.core.errors import NotMeasuredError, with_hint
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.run import PolicyOutcome, Result
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.core.verdict import Finding

__tracebackhide__ = True  # pytest then shows the line of the test that asked, not this file
_WIDTH = 240
_QUOTE = 120

AUDITOR = "the auditor"
JUDGE = "the judge"

T = TypeVar("T")


class Fact:
    """Whether something is so; its representation says what shows it."""

    def __init__(self, truth: bool, words: str) -> None:
        """Remember the answer and the words for it."""
        self._truth = truth
        self._words = words

    def __bool__(self) -> bool:
        return self._truth

    def __repr__(self) -> str:
        return f"<{self._words}>"


class PolicyFacts:
    """What became of one policy in a conversation."""

    def __init__(self, name: str, result: Result, transcript: Transcript, *, has_rule: bool) -> None:
        """Know the outcome, and the findings that tell of it."""
        self._name = name
        self._result = result
        self._transcript = transcript
        self._has_rule = has_rule
        outcomes = (one for one in result.policies if one.policy == name)
        self._outcome = next(outcomes, PolicyOutcome(policy=name))

    @property
    def exercised(self) -> Fact:
        """Whether its occasion came."""
        if self._outcome.exercised is None:
            self._raise()
        words = "exercised" if self._outcome.exercised else "not exercised"
        return Fact(self._outcome.exercised, f"{words}: policy {self._name}{self._told()}")

    @property
    def kept(self) -> Fact:
        """Whether the agent kept it; a policy that was not exercised was neither kept nor broken, which raises."""
        if self._outcome.exercised is False:
            raise NotMeasuredError(
                f"policy {self._name!r} was neither kept nor broken: its occasion never came in this conversation; ask "
                f"`if run.policies[{self._name!r}].exercised:` before, or assert what was rightly not done: "
                "`not run.called(…)`"
            )
        if self._outcome.kept is None:
            self._raise()
        words = "kept" if self._outcome.kept else "not kept"
        return Fact(self._outcome.kept, f"{words}: policy {self._name}{self._told()}")

    def __repr__(self) -> str:
        return f"<policy {self._name}: exercised={self._outcome.exercised}, kept={self._outcome.kept}>"

    def _told(self) -> str:
        found = [one for one in self._result.findings if one.policy == self._name and one.passed is self._outcome.kept]
        return _told(found[0], self._transcript) if found else ""

    def _raise(self) -> NoReturn:
        found = next((one for one in self._result.findings if one.policy == self._name and one.passed is None), None)
        who = "labels of what the user's lines mean, or the auditor" if self._has_rule else AUDITOR
        not_measured(f"policy {self._name!r}", self._result, f"policy {self._name}", found, who=who)


class CriterionFacts:
    """What was found about one criterion of the rubric."""

    def __init__(self, name: str, label: str, result: Result, transcript: Transcript) -> None:
        """Know the finding that tells of it."""
        self._name = name
        self._label = label
        self._result = result
        self._transcript = transcript
        check = f"rubric:{name}"
        self._finding = next((one for one in result.findings if one.check == check), None)

    @property
    def passed(self) -> Fact:
        """Whether it speaks for the agent: a good thing that shows, or a fault that does not."""
        return self._fact("passed", "failed", wanted=True)

    @property
    def hit(self) -> Fact:
        """Whether it shows: a fault in what the agent did, or a good thing."""
        return self._fact("hit", "not hit", wanted=self._label == "POS")

    @property
    def is_measured(self) -> bool:
        """Whether somebody found out."""
        return self._finding is not None and self._finding.passed is not None

    def __repr__(self) -> str:
        return f"<criterion {self._name}: {self._finding.message if self._finding else 'not measured'}>"

    def _fact(self, yes: str, no: str, *, wanted: bool) -> Fact:
        found = self._finding
        if found is None or found.passed is None:
            not_measured(f"criterion {self._name!r}", self._result, "rubric", found, who=JUDGE)
        truth = found.passed is wanted
        return Fact(truth, f"{yes if truth else no}: criterion {self._name}{_told(found, self._transcript)}")


class Named(Mapping[str, T]):
    """Facts by name; a name that is none says which there are."""

    def __init__(self, what: str, names: tuple[str, ...], make: Callable[[str], T]) -> None:
        """Make the facts of a name when they are asked for."""
        self._what = what
        self._names = names
        self._make = make

    def __getitem__(self, name: str) -> T:
        if name not in self._names:
            hint = suggestion(name, self._names) or f"there are: {listing(self._names) or 'none'}"
            raise KeyError(with_hint(f"no {self._what} {name!r}", hint))
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def not_measured(what: str, result: Result, part: str, found: Finding | None, *, who: str) -> NoReturn:
    """Raise that something was not measured: why, which role would have, and what to add."""
    left = next((one for one in result.unmeasured if one.part == part), None)
    why = found.message if found is not None else left.why if left is not None else "nobody was asked"
    cure = (found.cure if found is not None else "") or (left.cure if left is not None else "")
    reason = shorten(printable(why.removeprefix("not measured: ")), _WIDTH)
    raise NotMeasuredError(with_hint(f"{what} was not measured: {reason}; {who} would measure it", cure))


def quoted(transcript: Transcript, turn: int | None) -> str:
    """Give the words of a turn, or else the calls made in it, as an assertion shows them; "" where there are none."""
    if turn is None:
        return ""
    turns = transcript.turns
    said = [one for one, number in zip(transcript.messages, turns, strict=True) if number == turn]
    words = (f"{one.role}: {shorten(printable(one.text), _QUOTE)!r}" for one in said if one.text and one.role != "tool")
    text = next(words, "")
    calls = [str(call) for one in said for call in one.tool_calls]
    return text or shorten(printable(", ".join(calls)), _QUOTE)


def _told(found: Finding, transcript: Transcript) -> str:
    """Say what a finding found and in which turn, with words of that turn unless it quotes them itself."""
    message = shorten(printable(found.message), _WIDTH)
    words = "" if f"(turn {found.turn}: " in found.message else quoted(transcript, found.turn)
    place = f" (turn {found.turn}, {words})" if words else ""
    return f": {message}{place}"
