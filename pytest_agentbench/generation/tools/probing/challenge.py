"""Asking what a tool does not accept: each argument missing, of another type, at its bounds, beyond them, unknown."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.values import is_number
from pytest_agentbench.generation.tools.probing.candidates import (
    bounds,
    declared,
    described,
    described_span,
    fits,
    stranger,
    usual,
)
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory, Subject, Trial
from pytest_agentbench.generation.tools.probing.observed import seen_for
from pytest_agentbench.generation.tools.probing.replaying import Script, substituted
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.values import ProbeKind

_ENUM = 8
STRANGE = "agentbench_unknown"
"""An argument that no schema names."""

Plan = tuple[ProbeKind, dict[str, Any]]
"""A call to make, and what for."""


async def challenge(script: Script, subject: Subject) -> None:
    """Probe each argument around a call that works, within the tool's budget of challenges.

    What was accepted without is tried first, since it decides what the others are varied around. A tool that changes
    something is probed where nothing else was: in a fresh environment, and in another one each time that the call
    which worked is used up (a name is taken, a thing is gone).
    """
    lab = script.lab
    if subject.base is not None and not subject.is_read:
        await _settle(script, subject)
    base = subject.base or next((trial for trial in reversed(subject.trials) if trial.verdict == "empty"), None)
    if base is None:
        await _without_base(lab, subject)
        return
    most = len(subject.trials) + lab.budget.challenges
    slots = sorted(subject.slots, key=lambda slot: subject.once and not _is_given(lab, subject, slot))
    plans = [list(challenges(lab, subject, slot, base)) for slot in slots]
    plans.append([("cross_parameter", values) for values in crossed(subject, base)])
    unknown: list[Plan] = [("cross_parameter", {**base.values, STRANGE: "1"})]
    plans.append(unknown)
    is_spent = False
    turns = _Turns(plans, first=sum(_is_given(lab, subject, slot) for slot in slots) if subject.once else 0)
    for kind, values in turns:
        if not lab.may_call(subject, most):
            return
        if is_spent and subject.once and not await script.restore(before=subject):
            return
        trial = await lab.try_values(subject, _today(values, base, subject.base), kind)
        is_spent = trial is not None and trial.ok
        if is_spent and subject.once:
            turns.put_off()
        if is_spent and trial is not None and subject.base is None and STRANGE not in values:
            script.adopt(subject, trial)
            if not await script.spoils(trial):
                script.keep(trial)


def _is_given(lab: Laboratory, subject: Subject, slot: Slot) -> bool:
    """Whether results of other tools hold what an argument's name means: it may well refer to that."""
    return any(one.likeness >= 0.5 and one.trial.tool != subject.name for one in seen_for(lab, subject, slot))


class _Turns:
    """Gives the first call of every argument, then the second, and so on, and at the end what was put off.

    All calls of the `first` arguments come before those of the others.
    """

    def __init__(self, plans: list[list[Plan]], *, first: int = 0) -> None:
        self._groups = [[list(plan) for plan in several] for several in (plans[:first], plans[first:])]
        self._now: list[Plan] = []
        self._late: list[Plan] = []

    def __iter__(self) -> Iterator[Plan]:
        """Give calls, as long as there are any."""
        for plans in self._groups:
            while any(plans):
                for plan in plans:
                    self._now = plan
                    if plan:
                        yield plan.pop(0)
        yield from self._late

    def put_off(self) -> None:
        """Leave the argument whose turn it is for the end: one that takes anything costs an environment each time, and
        leaves none for those that do not.
        """
        self._late += self._now
        self._now.clear()


async def _settle(script: Script, subject: Subject) -> None:
    """Go to a fresh environment where a tool's call works, and find out whether it does so twice."""
    if not await script.restore(before=subject) or subject.base is None:
        return
    first = await script.lab.call(subject, subject.base.arguments, "nominal", again=True)
    again = await script.lab.call(subject, subject.base.arguments, "nominal", again=True)
    subject.once = bool(first and again and first.ok and not again.ok)
    if subject.once:
        await script.restore(before=subject)


def _today(values: dict[str, Any], planned: Trial, base: Trial | None) -> dict[str, Any]:
    """Put what stands for the same thing in this environment in the place of what stood when a probe was planned."""
    if base is None:
        return values
    now = base.values
    others = {str(value): now[path] for path, value in planned.values.items() if now.get(path, value) != value}
    return {path: substituted(value, others) for path, value in values.items()}


async def _without_base(lab: Laboratory, subject: Subject) -> None:
    """Probe a tool that nothing is known to work for: without arguments, to hear what it asks for."""
    if subject.permission.called and subject.slots:
        await lab.call(subject, {}, "missing")


def challenges(
    lab: Laboratory, subject: Subject, slot: Slot, base: Trial
) -> Iterator[tuple[ProbeKind, dict[str, Any]]]:
    """Give the probes of one argument, the most telling first."""
    known = dict(base.values)
    chance = lab.chance(subject, slot)
    seen: set[str] = set()

    def probe(kind: ProbeKind, value: Any) -> Iterator[tuple[ProbeKind, dict[str, Any]]]:
        key = dumps(value)
        if key not in seen:
            seen.add(key)
            yield kind, {**known, slot.path: value}

    if slot.path in known:
        yield "missing", {path: value for path, value in known.items() if path != slot.path}
    for kind, value in _values(subject, slot, known.get(slot.path), chance):
        yield from probe(kind, value)


def _values(subject: Subject, slot: Slot, current: Any, chance: Random) -> Iterator[tuple[ProbeKind, Any]]:
    for value in [*declared(slot), *described(slot, subject.spec.description)[:_ENUM]][: 2 * _ENUM]:
        yield "nominal", value
    by_name = usual(slot, chance)
    if current is None:
        yield from (("nominal", value) for value in by_name[:3])
        current = next(iter(by_name), None)
    if slot.type in ("integer", "number"):
        yield from numbers(slot)
    elif slot.type in ("string", "any"):
        yield from texts(slot, current)
    is_varied = isinstance(current, str | int | float) and not isinstance(current, bool)
    if is_varied and not slot.schema.get("enum"):
        for _ in range(3 if isinstance(current, str) else 1):
            yield "boundary", stranger(current, chance)
    yield from (("wrong_type", value) for value in wrong_types(slot))
    if slot.type != "boolean":
        yield from (("nominal", value) for value in by_name[:6])


def numbers(slot: Slot) -> Iterator[tuple[ProbeKind, Any]]:
    """Give a number's bounds, what lies just beyond them, and a few values between and far away."""
    low, high = bounds(slot)
    span = described_span(slot)
    whole = slot.type == "integer"

    def typed(value: float) -> Any:
        return int(value) if whole else value

    if low is not None and fits(typed(low), slot):
        yield "boundary", typed(low)
    if high is not None and fits(typed(high), slot):
        yield "boundary", typed(high)
    if low is not None and high is not None:
        for share in (0.5, 0.75, 0.25, 0.9, 0.1):
            value = low + (high - low) * share
            yield "nominal", int(value) if whole else round(value, 4)
    for bound, step in ((low, -1), (high, 1)):
        if bound is not None:
            yield "out_of_range", typed(bound + step)
    if span is not None:
        yield "boundary", typed(span[0])
        yield "boundary", typed(span[1])
    for value in (0, -1, 1000, 95, 200, 10**9):
        kind: ProbeKind = "boundary" if fits(value, slot) else "out_of_range"
        yield kind, value if whole else float(value)


def texts(slot: Slot, current: Any) -> Iterator[tuple[ProbeKind, Any]]:
    """Give texts at the edge: none at all, padded, unknown, long, with accents, in another case."""
    yield ("boundary" if fits("", slot) else "out_of_range"), ""
    if slot.schema.get("enum"):
        yield "out_of_range", "agentbench-none"
        return
    if isinstance(current, str) and current:
        yield "boundary", f"{current} "
        if current.swapcase() != current:
            yield "boundary", current.swapcase()
    yield "boundary", "agentbench-none"
    yield "boundary", "zz"
    yield "boundary", "éàü 東京"
    if isinstance(current, str) and current.isdigit():
        yield "boundary", f"{int(current) + 1:0{len(current)}d}"
        yield "boundary", "9" * len(current)
        yield "boundary", f"{current}1"
    yield ("boundary" if fits("x" * 2_000, slot) else "out_of_range"), "x" * 2_000


def wrong_types(slot: Slot) -> tuple[Any, ...]:
    """Give values that are not of the declared type."""
    if slot.type in ("integer", "number"):
        return ("abc",)
    if slot.type == "boolean":
        return ("maybe",)
    if slot.type == "string":
        return ({"a": 1},)
    return ("abc", 5) if slot.type in ("array", "object") else ()


def crossed(subject: Subject, base: Trial) -> Iterator[dict[str, Any]]:
    """Give calls in which arguments meet: two of one type exchanged, and all optional ones at once."""
    known = base.values
    paths = [path for path, value in known.items() if is_number(value) or isinstance(value, str)]
    for left, right in pairwise(paths):
        if type(known[left]) is type(known[right]) and known[left] != known[right]:
            yield {**known, left: known[right], right: known[left]}
    optional = {
        slot.path: (declared(slot) or [None])[0]
        for slot in subject.slots
        if not slot.required and slot.path not in known
    }
    given = {path: value for path, value in optional.items() if value is not None}
    if len(given) > 1:
        yield {**known, **given}
