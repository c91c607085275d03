"""Policy rules, read into one type per kind; `docs/reference/rules.md` says what each means.

A rule is judged from a point of the conversation on: the beginning, or what set off the `when` above it. Rules are
about occasions (calls, words, handoffs) and judge each of them; the requirements judge the point itself.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from pytest_agentbench.checks.rule_words import UNSAID
from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.tool import Requestor
from pytest_agentbench.suites.rule_check import ABOUT, rule_misfits, summed
from pytest_agentbench.suites.task_fields import HANDOFF, handoffs_of

Calls = tuple[str, ...] | Literal["writes", "any"]
"""The tools that a rule is about; *writes* are all that write."""


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
class Speech:
    """A party says one of `texts`: a text, a pattern, or a reference to a value of the call; `times` is the time."""

    speaker: Requestor
    texts: tuple[Any, ...]
    times: int | None = None


@dataclass(frozen=True)
class Never:
    """A call of these tools is judged, one that is described wholly is forbidden; so is such a handoff."""

    about: Described | ExpectedHandoff


@dataclass(frozen=True)
class Only:
    """Every call of the agent is one that is described: the list of what is allowed."""

    about: Described


@dataclass(frozen=True)
class OnlyIf:
    """Each call that is described, or each such handoff, needs what is required."""

    about: Described | ExpectedHandoff
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

    trigger: Described | Speech | ExpectedHandoff | None
    then: "Rule"


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
    """A described call is made, a handoff takes place or a party says something, before the point or after it.

    A call must not have failed unless that is asked for. Where given, it is in one of the agent's `within` next turns,
    the one that the point lies in included, or in one of its `within` next messages where it is words.
    """

    about: Described | ExpectedHandoff | Speech
    earlier: bool
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
class Confirmed:
    """The user confirmed the call, see `checks.consent`; the agent had stated the arguments in `stating` as well.

    So it had what the references in `values` lead to, in the call around the rule.
    """

    stating: tuple[str, ...] = ()
    values: tuple[Mapping[str, Any], ...] = ()


Rule = (
    Never | Only | OnlyIf | AtMost | SumAtMost | When | AllOf | AnyOf | Not
    | Other | InState | Arguments | Confirmed
)  # fmt: skip


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


def parts_of(rule: Rule) -> tuple[Rule, ...]:
    """Give the rules that a rule is made of."""
    match rule:
        case AllOf() | AnyOf():
            return rule.rules
        case OnlyIf():
            return (rule.needs,)
        case When():
            return (rule.then,)
        case Not():
            return (rule.rule,)
        case _:
            return ()


def occasion(rule: Rule) -> Described | Speech | ExpectedHandoff | None:
    """Give what a rule is about by itself."""
    return rule.trigger if isinstance(rule, When) else getattr(rule, "about", None)


def reads_calls(rule: Rule) -> bool:
    """Whether calls must be seen to judge a rule; what is only about words or handoffs needs none."""
    if isinstance(occasion(rule), Described) or isinstance(rule, Arguments | InState | Confirmed):
        return True
    return any(map(reads_calls, parts_of(rule)))


def reads_handoffs(rule: Rule) -> bool:
    """Whether a rule says something of handoffs."""
    return isinstance(occasion(rule), ExpectedHandoff) or any(map(reads_handoffs, parts_of(rule)))


def needs_consent(rule: Rule) -> bool:
    """Whether nothing is known of a rule as long as nobody knows what the user agreed to."""
    parts = parts_of(rule)
    return isinstance(rule, Confirmed) or (bool(parts) and all(map(needs_consent, parts)))


def is_about_writes(rule: Rule) -> bool:
    """Whether a rule, or one of several, is about all calls that write."""
    if isinstance(rule, AllOf | AnyOf):
        return any(map(is_about_writes, rule.rules))
    about = None if isinstance(rule, Only | Other) else occasion(rule)
    return isinstance(about, Described) and about.calls == "writes"


def _rule(form: Mapping[str, Any]) -> Rule:
    if "when" in form:
        return When(_trigger(form["when"]), _rule(form["then"]))
    ((operator, body),) = form.items()
    return _READ[operator](body)


def _all(forms: Mapping[str, Any]) -> Rule:
    needs = tuple(_rule({key: body}) for key, body in forms.items() if key not in ABOUT)
    return needs[0] if len(needs) == 1 else AllOf(needs)


def _before(body: Mapping[str, Any]) -> Rule:
    """Read `before`: each such call needs an earlier one of `first`, or such a handoff."""
    tools, same = tuple(one for one in body["first"] if isinstance(one, str)), tuple(body.get("same", ()))
    ways: list[Rule] = [Other(Described(tools, {}, same=same), earlier=True)] if tools else []
    ways += [Other(handoff, earlier=True) for handoff in handoffs_of(body["first"])]
    return OnlyIf(replace(_described(body), same=()), ways[0] if len(ways) == 1 else AnyOf(tuple(ways)))


def _confirm_before(body: Mapping[str, Any]) -> Rule:
    stating = body.get("stating", ())
    names = tuple(one for one in stating if isinstance(one, str))
    return OnlyIf(_described(body), Confirmed(names, tuple(one for one in stating if not isinstance(one, str))))


def _at_most(body: Mapping[str, Any]) -> Rule:
    about, per = replace(_described(body), times=None, per=()), tuple(body.get("per", ()))
    if "times" in body:
        return AtMost(about, body["times"], per)
    return SumAtMost(about, summed(body["sum"]), body["lte"], per)


def _must_say(body: Any) -> Rule:
    full = body if isinstance(body, Mapping) and "text" in body else {"text": body}
    return Other(Speech("assistant", _texts(full["text"])), False, full.get("within"))


_READ: dict[str, Callable[[Any], Rule]] = {
    "before": _before,
    "never": lambda body: Never(_about(body)),
    "only": lambda body: Only(_described(body)),
    "confirm_before": _confirm_before,
    "only_if": lambda body: OnlyIf(_about(body), _all(body)),
    "at_most": _at_most,
    "all": lambda body: AllOf(tuple(map(_rule, body))),
    "any": lambda body: AnyOf(tuple(map(_rule, body))),
    "not": lambda body: Not(_rule(body)),
    "earlier": lambda body: Other(_about(body), True, body.get("within")),
    "later": lambda body: Other(_about(body), False, body.get("within")),
    "arguments": lambda body: Arguments(dict(body)),
    "state": lambda body: InState(tuple(body["at"]), body["value"]),
    "user_said": lambda body: Other(Speech("user", _texts(body)), True),
    "agent_said": lambda body: Other(Speech("assistant", _texts(body)), True),
    "confirmed": lambda body: Confirmed(tuple(body["stating"]) if isinstance(body, Mapping) else ()),
    "must_say": _must_say,
    "must_not_say": lambda body: Not(_must_say({"text": body})),
}
"""What each operator is read into."""


def _trigger(form: Any) -> Described | Speech | ExpectedHandoff | None:
    if isinstance(form, str):
        return None
    if "calls" in form or HANDOFF in form:
        return _about(form)
    ((key, body),) = ((key, body) for key, body in form.items() if key != "times")
    return Speech("user" if key.startswith("user") else "assistant", _texts(body), form.get("times"))


def _about(body: Mapping[str, Any]) -> Described | ExpectedHandoff:
    return handoffs_of([{HANDOFF: body[HANDOFF]}])[0] if HANDOFF in body else _described(body)


def _described(body: Mapping[str, Any]) -> Described:
    named: Any = body["calls"]
    return Described(
        tuple(named) if isinstance(named, list | tuple) else named,
        dict(body.get("where") or {}),
        body.get("result", UNSAID),
        tuple(body.get("same", ())),
        bool(body.get("failed", False)),
        body.get("times"),
        tuple(body.get("per", ())),
    )


def _texts(body: Any) -> tuple[Any, ...]:
    """Give all texts of a list of them, which may hold lists, or of one alone."""
    return tuple(text for part in body for text in _texts(part)) if isinstance(body, list | tuple) else (body,)
