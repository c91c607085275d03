"""What a rule says of a conversation: each place where it was set off, and whether it was kept there."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pytest_agentbench.checks.calls import NOT_TOLD, SHOW_AGENTS, handoffs_of, is_expected
from pytest_agentbench.checks.consent import consent
from pytest_agentbench.checks.matchers import Doubt, Truth
from pytest_agentbench.checks.rule_arguments import Amount, NotThereError, RuleFacts, path_of
from pytest_agentbench.checks.rule_points import (
    Judged,
    Point,
    after,
    at_call,
    described,
    find,
    handoffs_after,
    judge_state,
    occasions,
    places,
    unknown,
)
from pytest_agentbench.checks.rules import (
    AllOf,
    AnyOf,
    Arguments,
    AtMost,
    Confirmed,
    Described,
    InState,
    Never,
    Not,
    Only,
    OnlyIf,
    Other,
    Rule,
    Speech,
    SumAtMost,
    When,
    occasion,
    parts_of,
)
from pytest_agentbench.core.events import ExpectedHandoff
from pytest_agentbench.core.expression import every, opposite, some
from pytest_agentbench.core.json_values import is_number, same, to_json
from pytest_agentbench.core.matchers import holds_reference
from pytest_agentbench.core.names import count
from pytest_agentbench.core.text import printable

UNCLEAR = "read the turn, and mend the label or the prompt of the user"
"""What to do where the label of a turn and the auditor differ."""

DECIMALS = 9
"""Decimals of a sum: 0.1 and 0.2 come to 0.3 in a message."""


def judge_rule(rule: Rule, facts: RuleFacts) -> list[Judged]:
    """Give every point where a rule was set off; raise what `matchers.matches` raises."""
    return _judge(rule, Point(), facts)


def _judge(rule: Rule, point: Point, facts: RuleFacts) -> list[Judged]:
    about = occasion(rule)
    if isinstance(about, ExpectedHandoff) and not facts.run.tells_handoffs:
        return [unknown(point, Doubt(NOT_TOLD, SHOW_AGENTS), is_unsure=not isinstance(rule, Other))]
    match rule:
        case Never() | Only():
            return list(_forbidden(rule, point, facts))
        case OnlyIf() | When():
            return list(_each(rule, point, facts))
        case AtMost():
            return list(_at_most(rule, point, facts))
        case SumAtMost():
            return list(_sum_at_most(rule, point, facts))
        case AllOf():
            return [verdict for part in rule.rules for verdict in _judge(part, point, facts)]
        case AnyOf():
            judge = _from if point.set_off else _judge
            return _any([branch for part in rule.rules if (branch := judge(part, point, facts))])
        case Not():
            return [replace(one, kept=opposite(one.kept)) for one in _merged(rule.rule, point, facts)]
    try:
        return [_required(rule, point, facts)]
    except NotThereError as error:  # nobody can say a value that is empty
        if error.lacking is None or point.subject is None:
            return []
        return [unknown(point, facts.lack(error.lacking, point.subject))]


def forbids_expected(rule: Rule, place: int, facts: RuleFacts) -> bool:
    """Whether a rule forbids a call that the scenario expects so, whatever else the conversation holds."""
    if _kept_alone(rule, place, facts) is not False:
        return False
    return is_expected(facts.run, facts.calls[place].call, _read(rule), facts.resolve)


def _kept_alone(rule: Rule, place: int, facts: RuleFacts) -> bool | None:
    """Whether a call keeps a rule; None where anything but its tool and its arguments may decide."""
    about, told = occasion(rule), None
    if isinstance(about, Described):
        is_plain = about == Described(about.calls, about.where) and not holds_reference(about.where)
        told = facts.fits(about, place, None) if is_plain else None
    match rule:
        case AllOf():
            return every(_kept_alone(part, place, facts) for part in rule.rules)
        case AnyOf():
            return some(_kept_alone(part, place, facts) for part in rule.rules)
        case Not():
            return opposite(_kept_alone(rule.rule, place, facts))
        case Arguments():
            told = None if holds_reference(rule.values) else facts.has_arguments(rule.values, place, place)
        case OnlyIf() | When():
            needs = rule.needs if isinstance(rule, OnlyIf) else rule.then
            told = _kept_alone(needs, place, facts) if told is True else None
        case Never():
            told = False if told is True else None
        case Only():
            pass
        case _:
            told = None
    return told if isinstance(told, bool) else None


def _read(rule: Rule) -> set[str]:
    """Give the arguments of a call that a rule reads."""
    about = occasion(rule)
    where = about.where if isinstance(about, Described) else rule.values if isinstance(rule, Arguments) else {}
    return set(where).union(*map(_read, parts_of(rule)))


def _each(rule: OnlyIf | When, point: Point, facts: RuleFacts) -> Iterator[Judged]:
    """Judge each occasion that a rule is about, or is set off by."""
    if isinstance(rule, OnlyIf):
        for at in occasions(rule.about, point, facts):
            yield from _doubted(_merged(rule.needs, at, facts), at.doubt)
    else:
        for at in _triggering(rule.trigger, point, facts):
            yield from _doubted([replace(one, is_unsure=False) for one in _from(rule.then, at, facts)], at.doubt)


def _doubted(found: Iterable[Judged], doubt: Doubt | None) -> Iterator[Judged]:
    """Take back what was found broken, or is not known, at a call that the rule may not be about."""
    for one in found:
        if doubt is None:
            yield one
        elif one.kept:
            yield replace(one, is_unsure=True)
        else:
            yield replace(one, kept=None, why=doubt.why, cure=doubt.cure, is_unsure=True)


def _from(rule: Rule, point: Point, facts: RuleFacts) -> list[Judged]:
    """Judge a rule from a point on; where it had nothing to decide it was kept."""
    return _judge(rule, point, facts) or [Judged(point, True, "")]


def _merged(rule: Rule, point: Point, facts: RuleFacts) -> list[Judged]:
    """Judge requirements as one: all of them, at this point."""
    found = _judge(rule, point, facts)
    if not found:
        return []
    kept = every(one.kept for one in found)
    telling = [one for one in found if one.kept is kept]
    return [Judged(point, kept, _whys(telling), telling[0].message, _are_open(found), telling[0].cure)]


def _whys(telling: Iterable[Judged]) -> str:
    return " and ".join(dict.fromkeys(one.why for one in telling if one.why))


def _are_open(found: Iterable[Judged]) -> bool:
    """Whether what comes later could still change all of these: one broken part that is settled settles the whole."""
    listed = list(found)
    broken = [one.is_open for one in listed if one.kept is False]
    return all(broken) if broken else any(one.is_open for one in listed)


def _any(branches: list[list[Judged]]) -> list[Judged]:
    """One branch is enough: where several judge the same point, there; otherwise in the conversation."""
    verdicts: dict[tuple[int, int | None, int | None], list[Judged]] = defaultdict(list)
    for one in (one for branch in branches for one in branch):
        verdicts[one.point.place].append(one)
    found = []
    for place, judged in verdicts.items():
        # a branch that is silent here is kept or broken by what it says elsewhere
        groups = [[one for one in branch if one.point.place == place] or branch for branch in branches]
        kept = some(every(one.kept for one in group) for group in groups)
        telling = [one for one in judged if one.kept is kept]
        cure = next((one.cure for one in telling if one.cure), "")
        is_open, is_unsure = any(map(_are_open, groups)), all(one.is_unsure for one in judged)
        found.append(Judged(judged[0].point, kept, _whys(telling), judged[0].message, is_open, cure, is_unsure))
    return found


def _triggering(
    trigger: Described | Speech | ExpectedHandoff | None, point: Point, facts: RuleFacts
) -> Iterator[Point]:
    """Give what sets a trigger off: all that occurs, or where `times` is given, the one of this number.

    One that may be meant makes the number of those after it unknown.
    """
    met = list(occasions(trigger, point, facts))
    if isinstance(trigger, Described):
        met = [at for at in met if at.call is not None and facts.calls[at.call].failed == trigger.failed]
    times = trigger.times if isinstance(trigger, Described | Speech) else None
    if times is None:
        yield from met
    elif isinstance(trigger, Speech):
        doubt = next((one.doubt for one in met if one.doubt), None)
        yield from (replace(one, doubt=one.doubt or doubt) for one in met) if doubt else met[times - 1 : times]
    elif isinstance(trigger, Described):
        counts = _Counts(trigger.per, facts)
        for at in met:
            least, unsure = counts.add(at)
            if least <= times <= least + len(unsure):
                yield replace(at, doubt=unsure[0] if unsure else None)


class _Counts:
    """Counts calls apart for each value of the arguments `per`: those that are meant, and the doubts about others."""

    def __init__(self, per: tuple[str, ...], facts: RuleFacts) -> None:
        self._per, self._facts = per, facts
        self._sure: Counter[str] = Counter()
        self._unsure: dict[str, list[Doubt]] = defaultdict(list)

    def key(self, at: Point) -> str:
        """Give what calls have in common that are counted together."""
        arguments = self._facts.calls[at.call or 0].call.arguments
        return repr([to_json(arguments.get(name)) for name in self._per])

    def add(self, at: Point, *, counts: bool = True) -> tuple[int, list[Doubt]]:
        """Count a call, unless it `counts` for nothing; give the count so far, and the doubts about more."""
        key = self.key(at)
        if counts and at.doubt is None:
            self._sure[key] += 1
        elif counts and at.doubt is not None:
            self._unsure[key].append(at.doubt)
        return self._sure[key], self._unsure[key]


def _forbidden(rule: Never | Only, point: Point, facts: RuleFacts) -> Iterator[Judged]:
    """Judge each call that a rule forbids, or that is none of the only ones that it allows; and each handoff."""
    about = rule.about
    if isinstance(about, ExpectedHandoff):
        yield from (Judged(at, False, "must never take place") for at in occasions(about, point, facts))
        return
    shown = facts.shown_result(about)
    if isinstance(rule, Never):
        these = " with these arguments" if about.where else ""
        why = f"must never be called{these}{f' and give {shown}' if shown else ''}"
    else:
        why = f"must not be called, only {_what(about, facts)}{f' giving {shown}' if shown else ''}"
    for place in after(point, facts):
        if facts.calls[place].rejected and isinstance(rule, Only) and facts.is_of(about, place):
            continue  # of the tools that are allowed; that its arguments are none breaks nothing
        if isinstance(rule, Only) or facts.is_of(about, place):
            fits, at = facts.fits(about, place, point.subject), at_call(place, point, facts)
            if isinstance(fits, Doubt):
                yield unknown(at, fits)
            else:
                yield Judged(at, fits is isinstance(rule, Only), why)


def _at_most(rule: AtMost, point: Point, facts: RuleFacts) -> Iterator[Judged]:
    times = count(rule.times, "time")
    counts = _Counts(rule.per, facts)
    for at in occasions(rule.about, point, facts):
        failed = facts.calls[at.call or 0].failed
        least, unsure = counts.add(at, counts=not failed)
        why = f"was call number {least}, allowed {times} at most{_for_each(rule.per)}"
        if failed or least + len(unsure) <= rule.times:
            yield Judged(at, True, why, is_unsure=at.doubt is not None)
        elif at.doubt is None and least > rule.times:
            yield Judged(at, False, why)
        else:
            yield unknown(at, unsure[0], is_unsure=at.doubt is not None)


def _sum_at_most(rule: SumAtMost, point: Point, facts: RuleFacts) -> Iterator[Judged]:
    """Judge each call by what it and those before it come to; one that gives no number makes the sum unknown."""
    ((_, name),) = rule.of.items()
    counts = _Counts(rule.per, facts)
    sums: dict[str, float | None] = {}
    limit = rule.lte if is_number(rule.lte) else _number(rule.lte, point.subject, facts)
    for at in occasions(rule.about, point, facts):
        key = counts.key(at)
        if facts.calls[at.call or 0].failed:
            yield Judged(at, True, f"adds nothing to {name}: it failed")
            continue
        before, amount = sums.get(key, 0), _number(rule.of, at.call, facts)
        is_known = before is not None and amount is not None and at.doubt is None
        total = sums[key] = round((before or 0) + (amount or 0), DECIMALS) if is_known else None
        if limit is None:
            doubt = Doubt(f"nothing tells a limit for {name}", _LIMIT)
            yield unknown(at, doubt, is_unsure=at.doubt is not None)
        elif at.doubt is not None:
            yield unknown(at, at.doubt, is_unsure=True)
        elif total is None:
            cure = f"have each of these calls give {name} as a number"
            yield unknown(at, Doubt(f"nothing tells what {name} comes to", cure))
        else:
            shown = limit.number if isinstance(limit, Amount) else limit
            why = f"was the call that brought {name} to {total}, allowed {shown} at most{_for_each(rule.per)}"
            yield Judged(at, _is_within(limit, total), why)


_LIMIT = "name in `lte` a number that the call around the rule was given or gave"


def _number(reference: Mapping[str, Any], subject: int | None, facts: RuleFacts) -> Any:
    """Give the number, or the amount, that a reference leads to; None where there is none."""
    try:
        found = facts.reckoned(reference, subject)
    except NotThereError:
        return None
    return found if isinstance(found, Amount) or is_number(found) else None


def _is_within(limit: float | Amount, total: float) -> bool:
    return limit.is_within("$lte", total) if isinstance(limit, Amount) else total <= limit or same(total, limit)


def _for_each(per: tuple[str, ...]) -> str:
    return f" for each {', '.join(per)}" if per else ""


def _required(rule: Rule, point: Point, facts: RuleFacts) -> Judged:
    match rule:
        case Other():
            if isinstance(rule.about, Speech):
                return _words(rule.about, rule, point, facts)
            return _other(rule, rule.about, point, facts)
        case Arguments():
            fits = point.subject is not None and facts.has_arguments(rule.values, point.subject, point.subject)
            if isinstance(fits, Doubt):
                return unknown(point, fits)
            return Judged(point, fits, f"with{'' if fits else 'out'} {facts.shown_values(rule.values)}")
        case InState():
            return judge_state(rule, point, facts)
        case Confirmed():
            return _confirmed(rule, point, facts)
        case _:
            raise TypeError(f"{type(rule).__name__} is no requirement")


def _confirmed(rule: Confirmed, point: Point, facts: RuleFacts) -> Judged:
    """Judge by the acts of the user's turns; where these do not tell, by what the auditor saw.

    Where the two differ nobody can tell, but for what the acts show to be broken, which nothing excuses.
    """
    if point.subject is None:
        return Judged(point, False, "without a call to confirm")
    try:
        values = tuple((path_of(one), facts.referred(one, point.around)) for one in rule.values)
    except NotThereError:
        why = f"nothing tells the {' and '.join(map(path_of, rule.values))} that the user has to hear"
        return unknown(point, Doubt(why, "name in `stating` what the call around the rule was given or gave"))
    asked, heard = consent(facts, point.subject, rule.stating, values), facts.consents.get(point.subject)
    if heard is None or heard.given is asked.given:
        return Judged(point, asked.given, asked.why or "with the user's confirmation", cure=asked.cure)
    if asked.given is None:
        return Judged(point, heard.given, heard.why)
    facts.unclear[point.subject] = heard
    if asked.given is False:
        return Judged(point, False, asked.why, cure=asked.cure)
    return unknown(point, Doubt(f"the user's acts confirm it, and the auditor saw it {heard.why}", UNCLEAR))


def _words(about: Speech, rule: Other, point: Point, facts: RuleFacts) -> Judged:
    """Judge whether a party said something before a point, or the agent does after it: from its words on."""
    first = point.message + 1 if point.call is not None else max(point.message, 0)
    where = range(point.message) if rule.earlier else range(first, len(facts.run.transcript.messages))
    heard = places(facts, about.speaker, where, rule.within)
    found = find(facts, about.texts, heard, point.subject)
    if isinstance(found, Doubt):
        return unknown(point, found)
    text = found[1] if found else described(facts, about.texts, point.subject)
    if rule.earlier:
        party = "user" if about.speaker == "user" else "agent"
        return Judged(point, found is not None, f"{'after' if found else 'before'} the {party} said {text}")
    if found is None:
        why = f"without {text} said by the agent afterwards" if point.what else f"the agent never said {text}"
        return Judged(point, False, why, is_open=rule.within is None or len(heard) < rule.within)
    return Judged(point, True, f"{'after which ' if point.what else ''}the agent said {text}", found[0])


def _other(rule: Other, about: Described | ExpectedHandoff, point: Point, facts: RuleFacts) -> Judged:
    """Judge whether another call, or a handoff, is before or after a point often enough."""
    turns = _turns_within(rule, point, facts)
    if isinstance(about, ExpectedHandoff):
        later, of_turn = set(handoffs_after(point, facts)), facts.run.transcript.turns
        known: list[Truth] = [
            about.fits(event) and (turns is None or of_turn[index] in turns)
            for number, (index, event) in enumerate(handoffs_of(facts.run))
            if (number in later) != rule.earlier and number != point.handoff
        ]
        times, what, verbs = 1, printable(str(about)), ("", "")
    else:
        later = set(after(point, facts))
        known = [
            facts.fits(about, place, point.subject)
            for place, record in enumerate(facts.calls)
            if (place in later) != rule.earlier
            and place != point.call
            and record.failed == about.failed
            and not record.rejected
            and (turns is None or record.turn in turns)
        ]
        times, what = about.times or 1, _what(about, facts)
        often = f" {times} times" if times > 1 else ""
        shown = facts.shown_result(about)
        if about.failed:
            more = f", giving {shown}" if shown else ""
            verbs = (f" failed{often}{more}", f" failing{often}{more}")
        elif shown:
            verbs = (f" gave {shown}{often}", f" giving {shown}{often}")
        else:
            verbs = (f" succeeded{often}", f" succeeding{often}")
    found = known.count(True) >= times
    doubts = [one for one in known if isinstance(one, Doubt)]
    if not found and known.count(True) + len(doubts) >= times:
        return unknown(point, doubts[0])
    if found or rule.earlier:
        return Judged(point, found, f"{'after' if rule.earlier and found else 'before'} {what}{verbs[0]}")
    within = rule.within
    soon = "afterwards" if within is None else f"in the agent's next {f'{within} turns' if within > 1 else 'turn'}"
    is_past = turns is not None and len(turns) >= (within or 0) and turns[-1] < facts.run.transcript.turns[-1]
    return Judged(point, found, f"without {what}{verbs[1]} {soon}", is_open=not is_past)


def _what(about: Described, facts: RuleFacts) -> str:
    """Name the calls that are described, with what they have alike with the call of the point, and are given."""
    names = about.calls if isinstance(about.calls, str) else " or ".join(about.calls)
    more = [f"the same {name}" for name in about.same]
    more += [facts.shown_values(about.where)] if about.where else []
    return f"{names}{' with ' + ' and '.join(more) if more else ''}"


def _turns_within(rule: Other, point: Point, facts: RuleFacts) -> tuple[int, ...] | None:
    """Give the agent's turns in which the call counts, the one that the point lies in first; None where any does."""
    if rule.within is None:
        return None
    transcript = facts.run.transcript
    start = transcript.turns[point.message] if point.message >= 0 else 0
    pairs = zip(transcript.turns, transcript.messages, strict=True)
    own = {turn for turn, message in pairs if message.role == "assistant" and turn >= start}
    return tuple(sorted(own)[: rule.within])
