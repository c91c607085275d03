"""What a rule says of a conversation: each place where it was set off, and whether it was kept there.

Where that is not known (None), all, any and not are those of Kleene's three-valued logic: one broken part breaks `all`,
one kept part keeps `any`, and otherwise what is not known stays so.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from pytest_agentbench.checks.consent import consent
from pytest_agentbench.checks.handoffs import NOT_TOLD, SHOW_AGENTS, handoffs_of
from pytest_agentbench.checks.rules import (
    UNSAID,
    AllOf,
    AnyOf,
    Arguments,
    AtMost,
    Before,
    ConfirmBefore,
    Confirmed,
    Described,
    HandedOver,
    HandOverOnlyIf,
    InState,
    MustNotSay,
    MustSay,
    Never,
    NeverHandOver,
    Not,
    Only,
    OnlyIf,
    Other,
    Rule,
    Said,
    Says,
    Spoken,
    SumAtMost,
    When,
)
from pytest_agentbench.checks.rules_state import read_state
from pytest_agentbench.checks.rules_text import described, find, places
from pytest_agentbench.checks.rules_values import DECIMALS, Facts, NotThereError, path_of
from pytest_agentbench.checks.wording import call_text, value_text
from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.values import is_number, same, to_json


@dataclass(frozen=True)
class Point:
    """A place in a conversation: the last message before it, and the call (its position) where it is one.

    `subject` is the call that references lead to, `what` names the point in messages (nothing at the beginning).
    `set_off` says that a trigger led here, `handoff` is the handoff (its position) where it is one, just before the
    message.
    """

    message: int = -1
    call: int | None = None
    subject: int | None = None
    what: str = ""
    set_off: bool = False
    handoff: int | None = None

    @property
    def place(self) -> tuple[int, int | None, int | None]:
        """What tells points apart."""
        return self.message, self.call, self.handoff


@dataclass(frozen=True)
class Judged:
    """A point where a rule was set off; `why` says what was found there, `message` where it shows.

    `kept` None: not measured, and `cure` names what to add.
    `is_open` tells that what had come later could still have changed it: nothing that was missing is proven so far,
    `is_unsure` that not even the trigger is known to have occurred.
    """

    point: Point
    kept: bool | None
    why: str
    message: int | None = None
    is_open: bool = False
    cure: str = ""
    is_unsure: bool = False


def every(known: Iterable[bool | None]) -> bool | None:
    """Whether all hold: one that does not decides, then one that is not known."""
    found = list(known)
    return False if False in found else None if None in found else True


def some(known: Iterable[bool | None]) -> bool | None:
    """Whether one holds: one that does decides, then one that is not known."""
    found = list(known)
    return True if True in found else None if None in found else False


def opposite(known: bool | None) -> bool | None:
    """Turn what is known round."""
    return None if known is None else not known


def judge_rule(rule: Rule, facts: Facts) -> list[Judged]:
    """Give every point where a rule was set off; raise what `matchers.matches` raises."""
    return _judge(rule, Point(), facts)


def _judge(rule: Rule, point: Point, facts: Facts) -> list[Judged]:
    match rule:
        case Never():
            return list(_never(rule, point, facts))
        case Only():
            return list(_only(rule, point, facts))
        case NeverHandOver() | HandOverOnlyIf():
            return list(_handing_over(rule, point, facts))
        case ConfirmBefore():
            return list(_confirm_before(rule, point, facts))
        case OnlyIf() | Before():
            return [verdict for at in _calls(rule.about, point, facts) for verdict in _merged(rule.needs, at, facts)]
        case AtMost():
            return list(_at_most(rule, point, facts))
        case SumAtMost():
            return list(_sum_at_most(rule, point, facts))
        case When():
            return list(_when(rule, point, facts))
        case AllOf():
            return [verdict for part in rule.rules for verdict in _judge(part, point, facts)]
        case AnyOf():
            judge = _from if point.set_off else _judge
            return _any([branch for part in rule.rules if (branch := judge(part, point, facts))])
        case Not():
            return [replace(one, kept=opposite(one.kept)) for one in _merged(rule.rule, point, facts)]
        case _:
            return _requirement(rule, point, facts)


def _when(rule: When, point: Point, facts: Facts) -> Iterator[Judged]:
    if isinstance(rule.trigger, ExpectedHandoff) and not facts.run.tells_handoffs:
        yield _untold(point)
        return
    for at in _occasions(rule.trigger, point, facts):
        for verdict in _from(rule.then, at, facts):
            yield replace(verdict, is_unsure=False)


def _untold(point: Point) -> Judged:
    return Judged(point, None, NOT_TOLD, cure=SHOW_AGENTS, is_unsure=True)


def _handing_over(rule: NeverHandOver | HandOverOnlyIf, point: Point, facts: Facts) -> Iterator[Judged]:
    if not facts.run.tells_handoffs:
        yield _untold(point)
        return
    for at in _handoffs(rule.handoff, point, facts):
        if isinstance(rule, NeverHandOver):
            yield Judged(at, False, "must never take place")
        else:
            yield from _merged(rule.needs, at, facts)


def _confirm_before(rule: ConfirmBefore, point: Point, facts: Facts) -> Iterator[Judged]:
    try:
        values = tuple((path_of(one), facts.referred(one, point.subject)) for one in rule.values)
    except NotThereError:
        values = None
    for at in _calls(rule.about, point, facts):
        if values is None:
            why = f"nothing tells the {' and '.join(map(path_of, rule.values))} that the user has to hear"
            yield Judged(at, None, why, cure="name in `stating` what the call around the rule was given or gave")
        else:
            yield from _merged(Confirmed(rule.stating, values), at, facts)


def _from(rule: Rule, point: Point, facts: Facts) -> list[Judged]:
    """Judge a rule from a point on; where it had nothing to decide it was kept."""
    return _judge(rule, point, facts) or [Judged(point, True, "")]


def _merged(rule: Rule, point: Point, facts: Facts) -> list[Judged]:
    """Judge requirements as one: all of them, at this point."""
    found = _judge(rule, point, facts)
    if not found:
        return []
    kept = every(one.kept for one in found)
    telling = [one for one in found if one.kept is kept]
    why = " and ".join(dict.fromkeys(one.why for one in telling if one.why))
    return [Judged(point, kept, why, telling[0].message, _are_open(found), telling[0].cure)]


def _are_open(found: Iterable[Judged]) -> bool:
    """Whether what comes later could still change all of these: one broken part that is settled settles the whole."""
    listed = list(found)
    broken = [one.is_open for one in listed if one.kept is False]
    return all(broken) if broken else any(one.is_open for one in listed)


def _any(branches: list[list[Judged]]) -> list[Judged]:
    """One branch is enough: where several judge the same point, there; otherwise in the conversation."""
    verdicts: dict[tuple[int, int | None, int | None], list[Judged]] = {}
    for branch in branches:
        for one in branch:
            verdicts.setdefault(one.point.place, []).append(one)
    found = []
    for place, judged in verdicts.items():
        here = [[one for one in branch if one.point.place == place] for branch in branches]
        # a branch that is silent here is kept or broken by what it says elsewhere
        groups = [group or branch for group, branch in zip(here, branches, strict=True)]
        kept = some(every(one.kept for one in group) for group in groups)
        telling = [one for one in judged if one.kept is kept]
        why = " and ".join(dict.fromkeys(one.why for one in telling if one.why))
        cure = next((one.cure for one in telling if one.cure), "")
        is_open, is_unsure = any(map(_are_open, groups)), all(one.is_unsure for one in judged)
        found.append(Judged(judged[0].point, kept, why, judged[0].message, is_open, cure, is_unsure))
    return found


def _calls(about: Described, point: Point, facts: Facts) -> Iterator[Point]:
    """Give the calls after a point that a rule is about."""
    for place in _after(point, facts):
        if facts.fits(about, place, point.subject):
            yield _at_call(place, facts)


def _after(point: Point, facts: Facts) -> Iterator[int]:
    for place, record in enumerate(facts.calls):
        if place > point.call if point.call is not None else record.message >= point.message:
            yield place


def _at_call(place: int, facts: Facts) -> Point:
    record = facts.calls[place]
    return Point(record.message, place, place, call_text(record.call.name, record.call.arguments), set_off=True)


def _handoffs(wanted: ExpectedHandoff, point: Point, facts: Facts) -> Iterator[Point]:
    """Give such handoffs after a point; each came just before the message that holds it."""
    for number, (index, event) in enumerate(handoffs_of(facts.run)):
        is_after = index > point.message if point.handoff is None else number > point.handoff
        if is_after and wanted.fits(event):
            yield Point(index, None, point.subject, printable(str(event)), set_off=True, handoff=number)


def _occasions(trigger: Described | Says | ExpectedHandoff | None, point: Point, facts: Facts) -> Iterator[Point]:
    if trigger is None:
        if facts.run.transcript.texts("assistant") or facts.calls:
            yield replace(point, set_off=True)
    elif isinstance(trigger, ExpectedHandoff):
        yield from _handoffs(trigger, point, facts)
    elif isinstance(trigger, Described):
        counts: Counter[str] = Counter()
        for at in _calls(trigger, point, facts):
            if at.call is not None and facts.calls[at.call].failed == trigger.failed:
                key = _group(trigger.per, at.call, facts)
                counts[key] += 1
                if trigger.times in (None, counts[key]):
                    yield at
    else:
        said = _words(trigger, point, facts)
        yield from said if trigger.times is None else islice(said, trigger.times - 1, trigger.times)


def _words(trigger: Says, point: Point, facts: Facts) -> Iterator[Point]:
    party = "the user" if trigger.speaker == "user" else "the agent"
    for index, _ in facts.run.transcript.texts(trigger.speaker):
        try:
            found = find(facts, trigger.spoken, [index], point.subject)
        except NotThereError:
            return
        if found is not None and index >= point.message:
            yield Point(index, None, point.subject, f"{party} said {found[1]}", set_off=True)


def _never(rule: Never, point: Point, facts: Facts) -> Iterator[Judged]:
    with_these = " with these arguments" if rule.about.where else ""
    with_result = f" and give {value_text(facts.told(rule.about.result))}" if rule.about.result is not UNSAID else ""
    for place in _after(point, facts):
        if facts.is_of(rule.about, place):
            kept = not facts.fits(rule.about, place, point.subject)
            yield Judged(_at_call(place, facts), kept, f"must never be called{with_these}{with_result}")


def _only(rule: Only, point: Point, facts: Facts) -> Iterator[Judged]:
    names = " or ".join(rule.about.calls)
    which = f" with {_pairs(rule.about.where, facts)}" if rule.about.where else ""
    shown = f" giving {value_text(facts.told(rule.about.result))}" if rule.about.result is not UNSAID else ""
    for place in _after(point, facts):
        kept = facts.fits(rule.about, place, point.subject)
        yield Judged(_at_call(place, facts), kept, f"must not be called, only {names}{which}{shown}")


def _at_most(rule: AtMost, point: Point, facts: Facts) -> Iterator[Judged]:
    times = f"{rule.times} time{'' if rule.times == 1 else 's'}"
    counts: Counter[str] = Counter()
    for at in _calls(rule.about, point, facts):
        place = at.call or 0
        key = _group(rule.per, place, facts)
        failed = facts.calls[place].failed
        counts[key] += not failed
        why = f"was call number {counts[key]}, allowed {times} at most{_for_each(rule.per)}"
        yield Judged(at, failed or counts[key] <= rule.times, why)


def _sum_at_most(rule: SumAtMost, point: Point, facts: Facts) -> Iterator[Judged]:
    """Judge each call by what it and those before it come to; one that gives no number makes the sum unknown."""
    ((_, name),) = rule.of.items()
    sums: dict[str, float | None] = {}
    for at in _calls(rule.about, point, facts):
        place = at.call or 0
        key = _group(rule.per, place, facts)
        before = sums.get(key, 0)
        if facts.calls[place].failed:
            yield Judged(at, True, f"adds nothing to {name}: it failed")
            continue
        amount = facts.number(rule.of, place)
        limit = rule.lte if is_number(rule.lte) else facts.number(rule.lte, point.subject)
        total = sums[key] = None if before is None or amount is None else round(before + amount, DECIMALS)
        if limit is None:
            cure = "name in `lte` a number that the call around the rule was given or gave"
            yield Judged(at, None, f"nothing tells a limit for {name}", cure=cure)
            continue
        if total is None:
            cure = f"have each of these calls give {name} as a number"
            yield Judged(at, None, f"nothing tells what {name} comes to", cure=cure)
            continue
        why = f"was the call that brought {name} to {total}, allowed {limit} at most{_for_each(rule.per)}"
        yield Judged(at, total <= limit or same(total, limit), why)


def _group(per: tuple[str, ...], place: int, facts: Facts) -> str:
    """Give what calls have in common that are counted together."""
    arguments = facts.calls[place].call.arguments
    return repr([to_json(arguments.get(name)) for name in per])


def _for_each(per: tuple[str, ...]) -> str:
    return f" for each {', '.join(per)}" if per else ""


def _requirement(rule: Rule, point: Point, facts: Facts) -> list[Judged]:
    try:
        return [_required(rule, point, facts)]
    except NotThereError:  # nobody can say a value that this run does not have
        return []


def _required(rule: Rule, point: Point, facts: Facts) -> Judged:
    subject = point.subject
    match rule:
        case Other():
            return _other(rule, point, facts)
        case HandedOver():
            return _handed_over(rule, point, facts)
        case Arguments():
            fits = subject is not None and facts.has_arguments(rule.values, subject, subject)
            return Judged(point, fits, f"with{'' if fits else 'out'} {_pairs(rule.values, facts)}")
        case InState():
            read = read_state(rule, facts, point.message, point.call, subject)
            return Judged(point, read.holds, read.why, cure=read.cure)
        case Confirmed():
            if subject is None:
                return Judged(point, False, "without a call to confirm")
            asked = consent(facts, subject, rule.stating, rule.values)
            return Judged(point, asked.given, asked.why or "with the user's confirmation", cure=asked.cure)
        case Said():
            found = find(facts, rule.spoken, places(facts, rule.speaker, range(point.message)), subject)
            text = found[1] if found else described(facts, rule.spoken, subject)
            party = "user" if rule.speaker == "user" else "agent"
            return Judged(point, found is not None, f"{'after' if found else 'before'} the {party} said {text}")
        case MustSay():
            return _spoken(rule.spoken, point, facts, rule.within)
        case MustNotSay():
            said = _spoken(rule.spoken, point, facts)
            return replace(said, kept=opposite(said.kept))
        case _:
            raise TypeError(f"{type(rule).__name__} is no requirement")


def _spoken(spoken: Spoken, point: Point, facts: Facts, within: int | None = None) -> Judged:
    """Judge whether the agent says something after a point: after the message of a call, or from words on."""
    first = point.message + 1 if point.call is not None else max(point.message, 0)
    rest = range(first, len(facts.run.transcript.messages))
    found = find(facts, spoken, places(facts, "assistant", rest, within), point.subject)
    if found is None:
        text = described(facts, spoken, point.subject)
        why = f"without {text} said by the agent afterwards" if point.what else f"the agent never said {text}"
        heard = len(places(facts, "assistant", rest, within))
        return Judged(point, False, why, is_open=within is None or heard < within)
    why = f"after which the agent said {found[1]}" if point.what else f"the agent said {found[1]}"
    return Judged(point, True, why, found[0])


def _other(rule: Other, point: Point, facts: Facts) -> Judged:
    after = set(_after(point, facts))
    places = [place for place in range(len(facts.calls)) if (place in after) != rule.earlier and place != point.call]
    about = rule.about
    turns = _turns_within(rule, point, facts)
    fitting = sum(
        facts.calls[place].failed == about.failed
        and (turns is None or facts.calls[place].turn in turns)
        and facts.fits(about, place, point.subject)
        for place in places
    )
    found = fitting >= (about.times or 1)
    names = about.calls if isinstance(about.calls, str) else " or ".join(about.calls)
    verb = ("failed" if about.failed else "succeeded") + _how_often(about)
    more = [f"the same {name}" for name in about.same]
    more += [_pairs(about.where, facts)] if about.where else []
    shown = f", giving {value_text(facts.told(about.result))}" if about.result is not UNSAID else ""
    call = f"{names}{' with ' + ' and '.join(more) if more else ''}"
    if found or rule.earlier:
        told = f"{'after' if rule.earlier and found else 'before'} {call} {verb}{shown}"
    else:
        verb = ("failing" if about.failed else "succeeding") + _how_often(about)
        told = f"without {call} {verb}{shown}{_soon(rule) or ' afterwards'}"
    return Judged(point, found, told, is_open=not found and not rule.earlier and not _is_past(turns, rule, facts))


def _soon(rule: Other | HandedOver) -> str:
    within = rule.within
    return "" if within is None else f" in the agent's next {f'{within} turns' if within > 1 else 'turn'}"


def _how_often(about: Described) -> str:
    return f" {about.times} times" if (about.times or 1) > 1 else ""


def _turns_within(rule: Other | HandedOver, point: Point, facts: Facts) -> tuple[int, ...] | None:
    """Give the agent's turns in which the call counts, the one that the point lies in first; None where any does."""
    if rule.within is None:
        return None
    transcript = facts.run.transcript
    start = transcript.turns[point.message] if point.message >= 0 else 0
    pairs = zip(transcript.turns, transcript.messages, strict=True)
    own = {turn for turn, message in pairs if message.role == "assistant" and turn >= start}
    return tuple(sorted(own)[: rule.within])


def _is_past(turns: tuple[int, ...] | None, rule: Other | HandedOver, facts: Facts) -> bool:
    """Whether nothing that comes later could be made in one of these turns any more."""
    if turns is None or len(turns) < (rule.within or 0):
        return False
    return turns[-1] < facts.run.transcript.turns[-1]


def _handed_over(rule: HandedOver, point: Point, facts: Facts) -> Judged:
    if not facts.run.tells_handoffs:
        return Judged(point, None, NOT_TOLD, cure=SHOW_AGENTS)
    text = printable(str(rule.handoff))
    if rule.earlier:
        after = {at.handoff for at in _handoffs(rule.handoff, point, facts)}
        found = any(
            rule.handoff.fits(event) and number not in (*after, point.handoff)
            for number, (_, event) in enumerate(handoffs_of(facts.run))
        )
        return Judged(point, found, f"{'after' if found else 'before'} {text}")
    turns = _turns_within(rule, point, facts)
    of_turn = facts.run.transcript.turns
    later = [at.message for at in _handoffs(rule.handoff, point, facts)]
    found = any(turns is None or of_turn[message] in turns for message in later)
    soon = _soon(rule) or " afterwards"
    return Judged(point, found, f"without {text}{soon}", is_open=not found and not _is_past(turns, rule, facts))


def _pairs(values: Mapping[str, Any], facts: Facts) -> str:
    return ", ".join(f"{name}={value_text(facts.told(value))}" for name, value in values.items())
