"""What flows between tools: values of results that another tool accepts where strangers of the same shape fail."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from pytest_agentbench.generation.tools.graph.meanings import ASKS, is_called, is_meant
from pytest_agentbench.generation.tools.graph.names import GENERIC, likeness, nouns, words
from pytest_agentbench.generation.tools.graph.spots import Planted, Spot, places_of, planted_in
from pytest_agentbench.generation.tools.probing.candidates import declared, described, fits
from pytest_agentbench.generation.tools.probing.labelled import is_coded
from pytest_agentbench.generation.tools.probing.laboratory import Laboratory, Subject
from pytest_agentbench.generation.tools.probing.observed import as_argument, is_specific
from pytest_agentbench.generation.tools.probing.oracle import is_silent
from pytest_agentbench.generation.tools.probing.reading import BOLD, LISTED
from pytest_agentbench.generation.tools.probing.schemas import Slot
from pytest_agentbench.generation.tools.probing.strangers import (
    closed_slots,
    is_about_another,
    strangers_refused,
    worked,
)
from pytest_agentbench.generation.tools.values import Flow

_CERTAIN = 0.8
"""Likeness of names from which a small number that was accepted is no count that happens to be one that is known."""
_SAME_NAME = 0.2
"""Likeness of equal names that say of different things (`names.likeness`)."""
_MIXED = 4
"""Values refused for one accepted where a place holds things of several kinds, as a folder holds files and folders."""
_KEPT = 5
"""Values and strangers that a flow keeps as its evidence."""

_CHOICES = frozenset({
    "status", "type", "kind", "state", "level", "priority", "language", "format", "unit", "mode", "order", "sort",
})  # fmt: skip
"""What arguments are called that choose among a few words, which no other tool need be asked for."""

_NUMBERS = frozenset({"id", "number", "key", "code"})
"""What results call that by which a thing is told from others: small numbers of the kind are no chance."""

_MAKES = frozenset({"create", "add", "new", "insert", "make", "register"})

_WORD = re.compile(r"[a-z]+")
_CONDITIONS = re.compile(r"if-(?:none-)?match|if-(?:un)?modified-since|if-range", re.I)
"""Headers of conditional requests (RFC 9110 §13.1): they tell a version, which no person asks for."""


def flows_of(lab: Laboratory) -> tuple[Flow, ...]:
    """Give what flows between tools, evidence first.

    Into an argument that takes known values only flows every value that it accepted and that stands, not as an echo,
    in another tool's result; a value that may stand there by chance counts where the names agree, or where the place
    gave two that were accepted and none that was not. Into an argument that takes anything flows what was accepted
    and has the same telling name.
    """
    makes = {(maker, path) for maker, path, _, _ in lab.made}
    closed = closed_slots(lab.subjects) - makes
    found: dict[tuple[str, ...], Flow] = {}
    places = list(places_of(lab, closed))
    planted = planted_in(lab, closed)
    order = {id(trial): position for position, trial in enumerate(lab.trials)}
    for subject in lab.subjects.values():
        for slot in subject.slots:
            if slot.type in ("boolean", "object", "array") or slot.schema.get("enum"):
                continue
            if _CONDITIONS.fullmatch(slot.name):
                continue
            is_closed = (subject.name, slot.path) in closed
            for flow in _into(lab, subject, slot, places, planted=planted, order=order, is_closed=is_closed):
                found.setdefault((flow.source, flow.source_path, flow.pattern, flow.target, flow.target_path), flow)
    for (maker, path, taker, into), names in lab.made.items():
        key = (maker, path, "", taker, into)
        found.setdefault(
            key,
            Flow(
                source=maker,
                source_path=path,
                origin="argument",
                target=taker,
                target_path=into,
                values=tuple(names[:_KEPT]),
                refused=tuple(names[:_KEPT]),
            ),
        )
    return tuple(
        sorted(_best(found.values()), key=lambda one: (one.source, one.target, one.target_path, one.source_path))
    )


def unfit_of(lab: Laboratory) -> tuple[Flow, ...]:
    """Give what was tried between tools in vain: values that one gave, refused by the other where the rest worked."""
    found: list[Flow] = []
    order = {id(trial): position for position, trial in enumerate(lab.trials)}
    places = list(places_of(lab, frozenset()))
    for subject in lab.subjects.values():
        for slot in subject.slots:
            refused = {str(value) for value in strangers_refused(subject, slot)}
            if not refused:
                continue
            tried = [
                (str(trial.values[slot.path]), trial.world, order[id(trial)], trial.ok)
                for trial in subject.trials
                if slot.path in trial.values and (trial.ok or not is_about_another(trial, slot.path))
            ]
            for spot in places:
                if spot.tool == subject.name:
                    continue
                stood = {str(as_argument(raw, slot)): spot.since[key] for key, raw in spot.values.items()}
                outcomes = [
                    (text, is_ok)
                    for text, world, position, is_ok in tried
                    if position > stood.get(text, {}).get(world, position)
                ]
                vain = [text for text, is_ok in outcomes if not is_ok and text in refused]
                if vain and not any(is_ok for _, is_ok in outcomes):
                    found.append(
                        Flow(
                            source=spot.tool,
                            source_path=spot.path,
                            pattern=spot.pattern,
                            origin="argument" if spot.origin == "argument" else "result",
                            target=subject.name,
                            target_path=slot.path,
                            refused=tuple(vain[:_KEPT]),
                        )
                    )
    return tuple(found)


def _into(
    lab: Laboratory,
    subject: Subject,
    slot: Slot,
    places: list[Spot],
    *,
    planted: Planted,
    order: dict[int, int],
    is_closed: bool,
) -> Iterator[Flow]:
    refused = strangers_refused(subject, slot)
    accepted: dict[str, set[int]] = defaultdict(set)
    for trial in worked(subject):
        if slot.path in trial.values:
            accepted[str(trial.values[slot.path])].add(trial.world)
    strangers = {str(value) for value in refused}
    last_refused: dict[tuple[str, int], int] = {
        (str(trial.values[slot.path]), trial.world): order[id(trial)]
        for trial in subject.trials
        if slot.path in trial.values and not trial.ok and not is_about_another(trial, slot.path)
    }
    telling = bool(set(words(slot.name)) - GENERIC)
    named = {str(value) for value in (*declared(slot), *described(slot, subject.spec.description))}
    for spot in places:
        if spot.tool == subject.name and not subject.is_read:
            continue
        like = lab.likeness(slot.path, subject.name, spot.names, spot.tool)
        since = {
            str(value): (value, spot.since[key])
            for key, raw in spot.values.items()
            if (value := as_argument(raw, slot)) is not None and fits(value, slot)
        }
        fitting = [  # the same id may be another thing's in another environment
            value
            for value, stood in since.values()
            if accepted.get(str(value), set()) & stood.keys()
            and (like >= 0.9 or str(value) not in named)
            and (
                like >= 0.5
                or planted.get(str(value), set()) <= {spot.tool}
                or (is_closed and is_specific(value))
                or is_meant(spot.names, spot.tool, slot)
            )
        ]
        turned_down = [  # after it stood there, that is
            value
            for text, (value, stood) in since.items()
            if text in strangers
            and text not in accepted
            and any(last_refused.get((text, world), -1) > position for world, position in stood.items())
        ]
        if is_tally(spot):
            fitting = [value for value in fitting if not _is_count(value)]
        if not fitting or not _is_flow(
            spot,
            slot,
            fitting,
            turned_down,
            like,
            is_closed=is_closed,
            looks_up=_looks_up(subject, slot, strangers),
            telling=telling,
            takes_away=subject.destroys,
            is_natural=any(str(value) not in planted for value in fitting),
            makes=nouns(subject.name) if _MAKES & set(words(subject.name)) else frozenset(),
        ):
            continue
        if spot.origin == "argument" and not _refuses(subject, slot, strangers):
            continue
        yield Flow(
            source=spot.tool,
            source_path=spot.path,
            pattern=spot.pattern,
            origin="argument" if spot.origin == "argument" else "result",
            target=subject.name,
            target_path=slot.path,
            values=tuple(fitting[:_KEPT]),
            refused=tuple(refused[:_KEPT]),
        )


def _refuses(subject: Subject, slot: Slot, strangers: set[str]) -> bool:
    """Whether strangers were refused, rather than answered with nothing, as filters of lists answer."""
    return any(
        trial.verdict in ("refused", "broken") and str(trial.values.get(slot.path)) in strangers
        for trial in subject.trials
    )


def _looks_up(subject: Subject, slot: Slot, strangers: set[str]) -> bool:
    """Whether an unknown value meets silence or a refusal: one thing is looked up, where a search gives no entries."""
    return any(
        trial.verdict in ("refused", "broken") or (trial.verdict == "empty" and is_silent(trial.answer.content))
        for trial in subject.trials
        if str(trial.values.get(slot.path)) in strangers
    )


def _is_flow(
    spot: Spot,
    slot: Slot,
    fitting: list[Any],
    turned_down: list[Any],
    like: float,
    *,
    is_closed: bool,
    looks_up: bool,
    telling: bool,
    takes_away: bool,
    is_natural: bool,
    makes: frozenset[str],
) -> bool:
    is_proven = is_closed and any(is_specific(value) for value in fitting)
    if len(turned_down) > len(fitting) * (_MIXED if is_proven else 1):
        return False
    last = set(words(slot.name)[-1:])
    is_bound = slot.required and is_proven and like >= _SAME_NAME  # what it needs is of what it tells
    if is_closed and not looks_up and like < 0.5 and not is_bound and not is_meant(spot.names, spot.tool, slot):
        return False  # it finds what holds a text: that it finds one proves nothing
    if last & ASKS and not (looks_up and is_closed and is_natural and spot.origin == "result"):
        return False
    if last & _CHOICES and not any(is_specific(value) for value in fitting):
        return False
    if not is_closed:
        if spot.origin == "argument":
            return False
        is_specific_one = any(is_specific(value) for value in fitting)
        return _flows_into_open(
            spot,
            slot,
            like,
            telling=telling or is_specific_one,
            takes_away=takes_away,
            is_natural=is_natural,
            makes=makes,
        )
    if last & ASKS:
        return is_called(spot.names) and len(fitting) >= 2
    is_number = _NUMBERS & set(words(spot.names[-1] if spot.names else ""))
    is_written = all(isinstance(value, str) for value in spot.values.values())  # what counts is given as a number
    is_counted = not is_number and not is_written and all(map(_is_count, fitting))
    if like < _CERTAIN and is_counted and not any(map(is_specific, fitting)):
        return False
    if like >= 0.5 or any(is_specific(value) for value in fitting):
        return not (spot.origin == "argument" and like < 0.5 and not any(is_specific(value) for value in fitting))
    if is_number and len(fitting) >= 2 and slot.type != "number":  # what takes any fraction takes no identifiers
        return spot.origin == "result" and not turned_down
    if is_coded(spot.pattern):
        return spot.origin == "result" and not turned_down
    is_text = is_written and spot.pattern in ("", LISTED, BOLD)
    return is_text and spot.origin == "result" and len(fitting) >= 2 and not turned_down


def is_tally(spot: Spot) -> bool:
    """Whether a place says how many there are, as `open tasks: 3` does; a list of numbers says which."""
    name = spot.names[-1] if spot.names else ""
    is_plural = name.lower().rstrip("s") != name.lower() and words(name)[-1:] != tuple(_WORD.findall(name.lower()))[-1:]
    return is_plural and "id" not in words(name) and not spot.path.endswith("*")


def _is_count(value: Any) -> bool:
    return str(value).isdigit()


def _flows_into_open(
    spot: Spot, slot: Slot, like: float, *, telling: bool, takes_away: bool, is_natural: bool, makes: frozenset[str]
) -> bool:
    """Whether a result's values are meant for an argument that takes anything: only names can tell."""
    if makes & nouns(*spot.names[:-1], spot.tool) and set(words(slot.name)[-1:]) & GENERIC:
        return False  # what creates is given the new thing's own name, not that of one there is
    if takes_away and like >= 0.8:
        return True  # what deletes is given what there is, also where it does not mind what there is not
    if is_meant(spot.names, spot.tool, slot):
        return True
    if like >= 0.8 and "id" in words(slot.name):
        return True  # an id of the same thing, also for what makes it where there is none
    return is_natural and like >= 0.9 and telling


def _fit(flow: Flow) -> float:
    names = tuple(step for step in flow.source_path.split(".") if step != "*")
    return likeness(flow.target_path, flow.target, names, flow.source)


def _best(flows: Any) -> Iterator[Flow]:
    """Keep of each pair of tool and argument the places that say it best: whole values before patterns."""
    groups: dict[tuple[str, str, str], list[Flow]] = defaultdict(list)
    for flow in flows:
        groups[flow.source, flow.target, flow.target_path].append(flow)
    for group in groups.values():
        whole = [flow for flow in group if flow.origin == "result" and not flow.pattern]
        result = [flow for flow in group if flow.origin == "result"]
        chosen = whole or result or group
        slot_words = words(group[0].target_path.split(".")[-1])
        chosen.sort(
            key=lambda one: (-len(set(words(one.source_path)) & set(slot_words)), -len(one.values), one.source_path)
        )
        yield from chosen[:2]
