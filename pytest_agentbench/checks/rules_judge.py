"""What a rule says of a conversation: each place where it was set off, and whether it was kept there."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pytest_agentbench.checks.calls import NOT_TOLD, SHOW_AGENTS, handoffs_of
from pytest_agentbench.checks.consent import consent
from pytest_agentbench.checks.findings import value_text
from pytest_agentbench.checks.reckoning import Amount, NotThereError, UnreckonedError, path_of
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
from pytest_agentbench.checks.rules_points import (
    Judged,
    Point,
    after,
    at_call,
    calls_of,
    described,
    doubted,
    every,
    find,
    opposite,
    places,
    read_state,
    some,
)
from pytest_agentbench.checks.rules_values import DECIMALS, Doubt, Facts
from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.matchers import is_reference
from pytest_agentbench.core.text import printable
from pytest_agentbench.core.values import is_number, same, to_json

UNCLEAR = "read the turn, and mend the label or the prompt of the user"
"""What to do where the label of a turn and the auditor differ."""


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
            return [
                verdict
                for at in calls_of(rule.about, point, facts)
                for verdict in doubted(_merged(rule.needs, at, facts), at.doubt)
            ]
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
        yield from doubted((replace(one, is_unsure=False) for one in _from(rule.then, at, facts)), at.doubt)


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
    for at in calls_of(rule.about, point, facts):
        if values is None:
            why = f"nothing tells the {' and '.join(map(path_of, rule.values))} that the user has to hear"
            yield Judged(at, None, why, cure="name in `stating` what the call around the rule was given or gave")
        else:
            yield from doubted(_merged(Confirmed(rule.stating, values), at, facts), at.doubt)


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
        yield from _triggering(trigger, point, facts)
    else:
        said = list(_words(trigger, point, facts))
        if trigger.times is None or any(one.doubt for one in said):
            doubt = next((one.doubt for one in said if one.doubt), None) if trigger.times else None
            yield from (replace(one, doubt=one.doubt or doubt) for one in said)
        else:
            yield from said[trigger.times - 1 : trigger.times]


def _triggering(trigger: Described, point: Point, facts: Facts) -> Iterator[Point]:
    """Give the calls that set a trigger off; one that may be about it makes the number of those after it unknown."""
    counts: Counter[str] = Counter()
    doubts: dict[str, list[Doubt]] = {}
    for at in calls_of(trigger, point, facts):
        if at.call is None or facts.calls[at.call].failed != trigger.failed:
            continue
        key = _group(trigger.per, at.call, facts)
        unknown = doubts.setdefault(key, [])
        if at.doubt is None:
            counts[key] += 1
        else:
            unknown.append(at.doubt)
        if trigger.times is None:
            yield at
        elif counts[key] <= trigger.times <= counts[key] + len(unknown):
            yield replace(at, doubt=unknown[0] if unknown else None)


def _words(trigger: Says, point: Point, facts: Facts) -> Iterator[Point]:
    party = "the user" if trigger.speaker == "user" else "the agent"
    for index, _ in facts.run.transcript.texts(trigger.speaker):
        try:
            found = find(facts, trigger.spoken, [index], point.subject)
        except UnreckonedError:
            if index >= point.message:
                doubt = _unspoken(trigger.spoken, point, facts)
                yield Point(index, None, point.subject, f"{party} spoke", set_off=True, doubt=doubt)
            continue
        except NotThereError:
            return
        if found is not None and index >= point.message:
            yield Point(index, None, point.subject, f"{party} said {found[1]}", set_off=True)


def _never(rule: Never, point: Point, facts: Facts) -> Iterator[Judged]:
    with_these = " with these arguments" if rule.about.where else ""
    with_result = f" and give {value_text(facts.told(rule.about.result))}" if rule.about.result is not UNSAID else ""
    for place in after(point, facts):
        if facts.is_of(rule.about, place):
            kept = opposite(facts.fits(rule.about, place, point.subject))
            doubt = facts.unsure(rule.about, point.subject) if kept is None else None
            yield _of_call(at_call(place, facts, doubt), kept, f"must never be called{with_these}{with_result}")


def _only(rule: Only, point: Point, facts: Facts) -> Iterator[Judged]:
    names = " or ".join(rule.about.calls)
    which = f" with {_pairs(rule.about.where, facts)}" if rule.about.where else ""
    shown = f" giving {value_text(facts.told(rule.about.result))}" if rule.about.result is not UNSAID else ""
    for place in after(point, facts):
        kept = facts.fits(rule.about, place, point.subject)
        doubt = facts.unsure(rule.about, point.subject) if kept is None else None
        yield _of_call(at_call(place, facts, doubt), kept, f"must not be called, only {names}{which}{shown}")


def _of_call(at: Point, kept: bool | None, why: str) -> Judged:
    """Judge a call by whether it fits a description, which its doubt says nobody can tell."""
    return Judged(at, kept, why) if at.doubt is None else Judged(at, None, at.doubt.why, cure=at.doubt.cure)


def _at_most(rule: AtMost, point: Point, facts: Facts) -> Iterator[Judged]:
    times = f"{rule.times} time{'' if rule.times == 1 else 's'}"
    counts: Counter[str] = Counter()
    doubts: dict[str, list[Doubt]] = {}
    for at in calls_of(rule.about, point, facts):
        place = at.call or 0
        key = _group(rule.per, place, facts)
        unknown = doubts.setdefault(key, [])
        failed = facts.calls[place].failed
        if at.doubt is None:
            counts[key] += not failed
        elif not failed:
            unknown.append(at.doubt)
        why = f"was call number {counts[key]}, allowed {times} at most{_for_each(rule.per)}"
        if failed or counts[key] + len(unknown) <= rule.times:
            yield Judged(at, True, why, is_unsure=at.doubt is not None)
        elif at.doubt is None and counts[key] > rule.times:
            yield Judged(at, False, why)
        else:
            yield Judged(at, None, unknown[0].why, cure=unknown[0].cure, is_unsure=at.doubt is not None)


def _sum_at_most(rule: SumAtMost, point: Point, facts: Facts) -> Iterator[Judged]:
    """Judge each call by what it and those before it come to; one that gives no number makes the sum unknown."""
    ((_, name),) = rule.of.items()
    sums: dict[str, float | None] = {}
    for at in calls_of(rule.about, point, facts):
        place = at.call or 0
        key = _group(rule.per, place, facts)
        before = sums.get(key, 0)
        if facts.calls[place].failed:
            yield Judged(at, True, f"adds nothing to {name}: it failed")
            continue
        amount = facts.number(rule.of, place)
        limit = _limit(rule.lte, point, facts)
        unknown = before is None or amount is None or at.doubt is not None
        total = sums[key] = None if unknown else round((before or 0) + (amount or 0), DECIMALS)
        if limit is None:
            cure = "name in `lte` a number that the call around the rule was given or gave"
            yield Judged(at, None, f"nothing tells a limit for {name}", cure=cure, is_unsure=at.doubt is not None)
        elif at.doubt is not None:
            yield Judged(at, None, at.doubt.why, cure=at.doubt.cure, is_unsure=True)
        elif total is None:
            cure = f"have each of these calls give {name} as a number"
            yield Judged(at, None, f"nothing tells what {name} comes to", cure=cure)
        else:
            shown = limit.number if isinstance(limit, Amount) else limit
            why = f"was the call that brought {name} to {total}, allowed {shown} at most{_for_each(rule.per)}"
            yield Judged(at, _within(limit, total), why)


def _limit(limit: Any, point: Point, facts: Facts) -> float | Amount | None:
    """Give the most that calls may come to, None where the call around the rule has no such number."""
    if is_number(limit):
        return limit
    try:
        found = facts.reckoned(limit, point.subject)
    except NotThereError:
        return None
    return found if isinstance(found, Amount) or is_number(found) else None


def _within(limit: float | Amount, total: float) -> bool:
    return limit.is_within("$lte", total) if isinstance(limit, Amount) else total <= limit or same(total, limit)


def _group(per: tuple[str, ...], place: int, facts: Facts) -> str:
    """Give what calls have in common that are counted together."""
    arguments = facts.calls[place].call.arguments
    return repr([to_json(arguments.get(name)) for name in per])


def _for_each(per: tuple[str, ...]) -> str:
    return f" for each {', '.join(per)}" if per else ""


def _requirement(rule: Rule, point: Point, facts: Facts) -> list[Judged]:
    try:
        return [_required(rule, point, facts)]
    except UnreckonedError:
        doubt = _unspoken(rule.spoken, point, facts) if isinstance(rule, Said | MustSay | MustNotSay) else None
        if doubt is None:
            raise
        return [Judged(point, None, doubt.why, cure=doubt.cure)]
    except NotThereError:  # nobody can say a value that this run does not have
        return []


def _unspoken(spoken: Spoken, point: Point, facts: Facts) -> Doubt:
    """Say which of the texts cannot be reckoned."""
    return facts.doubt(point.subject, *(one for one in spoken.texts if is_reference(one)))


def _required(rule: Rule, point: Point, facts: Facts) -> Judged:
    subject = point.subject
    match rule:
        case Other():
            return _other(rule, point, facts)
        case HandedOver():
            return _handed_over(rule, point, facts)
        case Arguments():
            fits = subject is not None and facts.has_arguments(rule.values, subject, subject)
            if fits is None:
                doubt = facts.doubt(subject, *rule.values.values())
                return Judged(point, None, doubt.why, cure=doubt.cure)
            return Judged(point, fits, f"with{'' if fits else 'out'} {_pairs(rule.values, facts)}")
        case InState():
            read = read_state(rule, facts, point.message, point.call, subject)
            return Judged(point, read.holds, read.why, cure=read.cure)
        case Confirmed():
            if subject is None:
                return Judged(point, False, "without a call to confirm")
            return _confirmed(rule, point, subject, facts)
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


def _confirmed(rule: Confirmed, point: Point, subject: int, facts: Facts) -> Judged:
    """Judge by the acts of the user's turns; where these do not tell, by what the auditor saw.

    Where the two differ nobody can tell, but for what the acts show to be broken, which nothing excuses.
    """
    asked, heard = consent(facts, subject, rule.stating, rule.values), facts.consents.get(subject)
    if heard is None or heard.given is asked.given:
        return Judged(point, asked.given, asked.why or "with the user's confirmation", cure=asked.cure)
    if asked.given is None:
        return Judged(point, heard.given, heard.why)
    facts.unclear[subject] = heard
    if asked.given is False:
        return Judged(point, False, asked.why, cure=asked.cure)
    return Judged(point, None, f"the user's acts confirm it, and the auditor saw it {heard.why}", cure=UNCLEAR)


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
    later = set(after(point, facts))
    places = [place for place in range(len(facts.calls)) if (place in later) != rule.earlier and place != point.call]
    about = rule.about
    turns = _turns_within(rule, point, facts)
    known = [
        facts.fits(about, place, point.subject)
        for place in places
        if facts.calls[place].failed == about.failed and (turns is None or facts.calls[place].turn in turns)
    ]
    found = known.count(True) >= (about.times or 1)
    if not found and len(known) - known.count(False) >= (about.times or 1):
        doubt = facts.unsure(about, point.subject)
        return Judged(point, None, doubt.why, cure=doubt.cure)
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
