"""Policy rules, read into one type per part; `docs/reference/rules.md` says what each means.

A rule is judged from a point of the conversation on: the beginning, or what set off the `when` above it. The rules
that bring a trigger judge each call that they are about; the requirements judge the point itself.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.suites.calls import HANDOFF, handoffs_of
from pytest_agentbench.suites.rule_check import ABOUT, rule_misfits, summed

Calls = tuple[str, ...] | Literal["writes", "any"]
"""The tools that a rule is about; *writes* are all that write."""

Speaker = Literal["assistant", "user"]

UNSAID: Any = object()
"""Stands for a result that a rule says nothing about."""


@dataclass(frozen=True)
class Described:
    """Calls of these tools whose arguments match `where` and whose result matches `result`.

    `same` are arguments equal to those of the call that the description is about. `times` says which such call, or how
    many of them; as a trigger they are counted apart for each value of `per`.
    """

    calls: Calls
    where: Mapping[str, Any]
    result: Any = UNSAID
    same: tuple[str, ...] = ()
    failed: bool = False
    times: int | None = None
    per: tuple[str, ...] = ()


@dataclass(frozen=True)
class Spoken:
    """A text, a pattern, or a reference to a value of the call; any of `texts`."""

    texts: tuple[Any, ...]


@dataclass(frozen=True)
class Never:
    """A call of these tools is judged, one that is described wholly is forbidden."""

    about: Described


@dataclass(frozen=True)
class Only:
    """Every call of the agent is one that is described: the list of what is allowed."""

    about: Described


@dataclass(frozen=True)
class NeverHandOver:
    """No such handoff takes place."""

    handoff: ExpectedHandoff


@dataclass(frozen=True)
class HandOverOnlyIf:
    """Each such handoff needs what is required."""

    handoff: ExpectedHandoff
    needs: "Rule"


@dataclass(frozen=True)
class Before:
    """Each described call needs an earlier call of one of `first` that did not fail, `same` arguments alike.

    An earlier one of `handoffs` does as well.
    """

    about: Described
    first: tuple[str, ...]
    same: tuple[str, ...] = ()
    handoffs: tuple[ExpectedHandoff, ...] = ()

    @property
    def calls(self) -> Calls:
        """The tools that the rule is about."""
        return self.about.calls

    @property
    def needs(self) -> "Rule":
        """What such a call needs."""
        called = [Other(Described(self.first, {}, same=self.same), earlier=True)] if self.first else []
        ways: list[Rule] = [*called, *map(HandedOver, self.handoffs)]
        return ways[0] if len(ways) == 1 else AnyOf(tuple(ways))


@dataclass(frozen=True)
class ConfirmBefore:
    """Each described call needs the user's confirmation.

    The agent must have stated the arguments in `stating`, too, and what the references in `values` lead to, in the call
    around the rule.
    """

    about: Described
    stating: tuple[str, ...] = ()
    values: tuple[Mapping[str, Any], ...] = ()

    @property
    def calls(self) -> Calls:
        """The tools that the rule is about."""
        return self.about.calls

    @property
    def needs(self) -> "Rule":
        """What such a call needs."""
        return Confirmed(self.stating)


@dataclass(frozen=True)
class OnlyIf:
    """Each call that is described needs what is required."""

    about: Described
    needs: "Rule"


@dataclass(frozen=True)
class AtMost:
    """Described calls are made without failing at most `times` times, counted apart for each value of `per`."""

    about: Described
    times: int
    per: tuple[str, ...] = ()


@dataclass(frozen=True)
class SumAtMost:
    """What described calls that do not fail come to in all is `lte` at most, apart for each value of `per`.

    `of` is a reference to the number, in the arguments or the result of each such call; `lte` is a number, or a
    reference to one of the call around the rule.
    """

    about: Described
    of: Mapping[str, Any]
    lte: Any
    per: tuple[str, ...] = ()


@dataclass(frozen=True)
class When:
    """Each time the trigger occurs, `then` is judged from there on; a trigger None is the beginning."""

    trigger: "Described | Says | ExpectedHandoff | None"
    then: "Rule"


@dataclass(frozen=True)
class Says:
    """A party says something; where `times` is given, for that time."""

    speaker: Speaker
    spoken: Spoken
    times: int | None = None


@dataclass(frozen=True)
class AllOf:
    """Every one of the rules."""

    rules: "tuple[Rule, ...]"


@dataclass(frozen=True)
class AnyOf:
    """One of the rules is enough."""

    rules: "tuple[Rule, ...]"


@dataclass(frozen=True)
class Not:
    """A requirement turned round."""

    rule: "Rule"


@dataclass(frozen=True)
class Other:
    """A described call was made before (`earlier`) or is made after the point; it did not fail unless asked for.

    Where given, it is made in one of the agent's `within` next turns, the one that the point lies in included.
    """

    about: Described
    earlier: bool
    within: int | None = None


@dataclass(frozen=True)
class HandedOver:
    """Such a handoff took place before the point (`earlier`), or does after it; `within` as in `Other`."""

    handoff: ExpectedHandoff
    earlier: bool = True
    within: int | None = None


@dataclass(frozen=True)
class InState:
    """What stands in the state under these keys, references among them, just before the point, fits `value`."""

    at: tuple[Any, ...]
    value: Any


@dataclass(frozen=True)
class Arguments:
    """The call has these arguments."""

    values: Mapping[str, Any]


@dataclass(frozen=True)
class Said:
    """A party said something before the point."""

    speaker: Speaker
    spoken: Spoken


@dataclass(frozen=True)
class Confirmed:
    """The user confirmed the call, see `checks.consent`; the agent had stated the arguments in `stating` as well.

    So it had the `values`, each with a name to show it by.
    """

    stating: tuple[str, ...] = ()
    values: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class MustSay:
    """The agent says something after the point, where given in one of its `within` next messages."""

    spoken: Spoken
    within: int | None = None


@dataclass(frozen=True)
class MustNotSay:
    """The agent says nothing of this after the point."""

    spoken: Spoken


Rule = (
    Before
    | Never
    | Only
    | NeverHandOver
    | HandOverOnlyIf
    | ConfirmBefore
    | OnlyIf
    | AtMost
    | SumAtMost
    | When
    | AllOf
    | AnyOf
    | Not
    | Other
    | HandedOver
    | InState
    | Arguments
    | Said
    | Confirmed
    | MustSay
    | MustNotSay
)


def read_rule(rule: Mapping[str, Any]) -> Rule:
    """Read a rule; raise `ValueError` with everything that is wrong with it.

    A rule is read once: while scenarios are planned, the same few are held against thousands of partial runs.
    """
    try:
        text = json.dumps(rule)
    except (TypeError, ValueError):  # a rule of Python code may hold what JSON has no form for
        return _checked(rule)
    return _read(text)


@lru_cache(maxsize=1024)
def _read(text: str) -> Rule:
    return _checked(json.loads(text))


def _checked(rule: Mapping[str, Any]) -> Rule:
    wrong = list(rule_misfits(rule))
    if wrong:
        raise ValueError("; ".join(map(str, wrong)))
    return _rule(rule)


def _inner(rule: Rule) -> tuple[Rule, ...]:
    """Give the rules that a rule is made of."""
    match rule:
        case AllOf() | AnyOf():
            return rule.rules
        case OnlyIf() | HandOverOnlyIf() | Before() | ConfirmBefore():
            return (rule.needs,)
        case When():
            return (rule.then,)
        case Not():
            return (rule.rule,)
        case _:
            return ()


def reads_calls(rule: Rule) -> bool:
    """Whether calls must be seen to judge a rule; what is only about words needs none."""
    match rule:
        case Said() | MustSay() | MustNotSay() | HandedOver() | NeverHandOver():
            return False
        case HandOverOnlyIf() | AllOf() | AnyOf() | Not():
            return any(map(reads_calls, _inner(rule)))
        case When():
            return isinstance(rule.trigger, Described) or reads_calls(rule.then)
        case _:
            return True


def reads_handoffs(rule: Rule) -> bool:
    """Whether a rule says something of handoffs."""
    is_set_off = isinstance(rule, When) and isinstance(rule.trigger, ExpectedHandoff)
    is_own = isinstance(rule, HandedOver | NeverHandOver | HandOverOnlyIf)
    return is_own or is_set_off or any(map(reads_handoffs, _inner(rule)))


def needs_consent(rule: Rule) -> bool:
    """Whether nothing is known of a rule as long as nobody knows what the user agreed to."""
    inner = _inner(rule)
    return isinstance(rule, ConfirmBefore | Confirmed) or (bool(inner) and all(map(needs_consent, inner)))


def tools_of(rule: Rule) -> set[str]:
    """The tools that a rule is about, *writes* and *any* among them."""
    match rule:
        case Before() | Never() | ConfirmBefore() | AtMost() | SumAtMost() | OnlyIf():
            about = rule.about.calls
        case Only():
            about = "any"
        case When() if isinstance(rule.trigger, Described):
            about = rule.trigger.calls
        case AllOf() | AnyOf():
            return set().union(*map(tools_of, rule.rules))
        case _:
            return set()
    return {about} if isinstance(about, str) else set(about)


def _rule(form: Mapping[str, Any]) -> Rule:
    if "when" in form:
        return When(_trigger(form["when"]), _rule(form["then"]))
    ((operator, body),) = form.items()
    match operator:
        case "before":
            return _before(body)
        case "never":
            return NeverHandOver(_handoff(body)) if "handoff" in body else Never(_described(body))
        case "only":
            return Only(_described(body))
        case "confirm_before":
            named = body.get("stating", ())
            values = tuple(one for one in named if not isinstance(one, str))
            return ConfirmBefore(_described(body), tuple(one for one in named if isinstance(one, str)), values)
        case "only_if":
            needs = tuple(_rule({key: body[key]}) for key in body if key not in ABOUT)
            needed = needs[0] if len(needs) == 1 else AllOf(needs)
            if "handoff" in body:
                return HandOverOnlyIf(_handoff(body), needed)
            return OnlyIf(_described(body), needed)
        case "at_most":
            return _at_most(body)
        case "all" | "any":
            parts = tuple(map(_rule, body))
            return AllOf(parts) if operator == "all" else AnyOf(parts)
        case "not":
            return Not(_rule(body))
        case _:
            return _requirement(operator, body)


def _before(body: Mapping[str, Any]) -> Before:
    tools = tuple(one for one in body["first"] if isinstance(one, str))
    return Before(_described(body, same=False), tools, tuple(body.get("same", ())), handoffs_of(body["first"]))


def _at_most(body: Mapping[str, Any]) -> AtMost | SumAtMost:
    about, per = _described({**body, "times": None, "per": ()}), tuple(body.get("per", ()))
    if "times" in body:
        return AtMost(about, body["times"], per)
    return SumAtMost(about, summed(body["sum"]), body["lte"], per)


def _requirement(operator: str, body: Any) -> Rule:
    match operator:
        case "earlier" | "later":
            is_earlier, within = operator == "earlier", body.get("within")
            if "handoff" in body:
                return HandedOver(_handoff(body), is_earlier, within)
            return Other(_described(body), is_earlier, within)
        case "arguments":
            return Arguments(dict(body))
        case "state":
            return InState(tuple(body["at"]), body["value"])
        case "user_said" | "agent_said":
            return Said(_speaker(operator), _spoken(body))
        case "confirmed":
            return Confirmed(tuple(body["stating"]) if isinstance(body, Mapping) else ())
        case "must_not_say":
            return MustNotSay(_spoken(body))
        case _:
            full = isinstance(body, Mapping) and "text" in body
            return MustSay(_spoken(body["text"]), body.get("within")) if full else MustSay(_spoken(body))


def _handoff(body: Mapping[str, Any]) -> ExpectedHandoff:
    (found,) = handoffs_of([{HANDOFF: body[HANDOFF]}])
    return found


def _trigger(form: Any) -> Described | Says | ExpectedHandoff | None:
    if isinstance(form, str):
        return None
    if "calls" in form:
        return _described(form)
    if HANDOFF in form:
        return _handoff(form)
    ((key, body),) = ((key, body) for key, body in form.items() if key != "times")
    return Says(_speaker(key), _spoken(body), form.get("times"))


def _speaker(key: str) -> Speaker:
    return "user" if key.startswith("user") else "assistant"


def _described(body: Mapping[str, Any], *, same: bool = True) -> Described:
    named = body["calls"]
    calls: Calls = "writes" if named == "writes" else "any" if named == "any" else tuple(named)
    return Described(
        calls,
        dict(body.get("where") or {}),
        body.get("result", UNSAID),
        tuple(body.get("same", ())) if same else (),
        bool(body.get("failed", False)),
        body.get("times"),
        tuple(body.get("per", ())),
    )


def _spoken(body: Any) -> Spoken:
    parts = body if isinstance(body, list | tuple) else [body]
    texts: list[Any] = []
    for part in parts:
        texts.extend(_spoken(part).texts if isinstance(part, list | tuple) else [part])
    return Spoken(tuple(texts))
