"""What flows between tools: values of results that another tool accepts where strangers of the same shape fail."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from pytest_agentbench.generation.tools.candidates import declared, described, fits
from pytest_agentbench.generation.tools.laboratory import Laboratory, Subject
from pytest_agentbench.generation.tools.names import GENERIC, likeness, nouns, words
from pytest_agentbench.generation.tools.observed import (
    Seen,
    as_argument,
    is_specific,
    seen_for,
    spread,
)
from pytest_agentbench.generation.tools.oracle import is_silent
from pytest_agentbench.generation.tools.reading import LISTED
from pytest_agentbench.generation.tools.schemas import Slot
from pytest_agentbench.generation.tools.spots import Planted, Spot, places_of, planted_in
from pytest_agentbench.generation.tools.strangers import closed_slots, strangers_refused
from pytest_agentbench.generation.tools.values import Flow

_PLACES = 8
"""Places whose values are tried on one argument."""
_KEPT = 5
"""Values and strangers that a flow keeps as its evidence."""

_CHOICES = frozenset({
    "status", "type", "kind", "state", "level", "priority", "language", "format", "unit", "mode", "order", "sort",
})  # fmt: skip
"""What arguments are called that choose among a few words, which no other tool need be asked for."""

_ASKS = frozenset(
    {
        "query",
        "search",
        "keyword",
        "term",
        "text",
        "filter",
        "message",
        "question",
        "note",
        "comment",
        "title",
        "description",
        "content",
        "body",
        "summary",
    }
)
"""What arguments are called that take free text: that a title finds itself joins no two tools."""

_CALLED = frozenset({"name", "title", "label", "city", "place", "town"})
"""What results call the words by which people ask for a thing."""

_MAKES = frozenset({"create", "add", "new", "insert", "make", "register"})

_CONDITIONS = re.compile(r"if-(?:none-)?match|if-(?:un)?modified-since|if-range", re.I)
"""Headers of conditional requests (RFC 9110 §13.1): they tell a version, which no person asks for."""


async def try_observed(lab: Laboratory, subject: Subject) -> None:
    """Try on each argument what other tools' results hold: what its name suggests, then, where it takes known values
    only, one value of every other place. Arguments that come together (latitude, longitude) are taken together.
    """
    if subject.base is None:
        return
    most = len(subject.trials) + lab.budget.observed
    for slot in subject.slots:
        if slot.type in ("boolean", "object", "array") or slot.schema.get("enum"):
            continue
        seen = [one for one in seen_for(lab, subject, slot) if fits(one.value, slot)]
        likely = spread([one for one in seen if one.likeness >= 0.5], 3)[:_PLACES]
        likely += spread([one for one in seen if is_meant(one.atom.names, one.trial.tool, slot)], 2)[:_PLACES]
        alike: list[Seen] = []
        if strangers_refused(subject, slot):
            if set(words(slot.name)[-1:]) & _ASKS:
                likely += spread([one for one in seen if is_called(one.atom.names)], 3)[:_PLACES]
            shapes = {shape(trial.values[slot.path]) for trial in subject.gives() if slot.path in trial.values}
            rest = [one for one in seen if one.likeness < 0.5]
            alike = spread([one for one in rest if shape(one.value) in shapes], 3)[: 2 * _PLACES]
            others = [one for one in rest if shape(one.value) not in shapes and is_specific(one.value)]
            alike += spread(others, 1)[:_PLACES]
            alike += spread([one for one in rest if one.atom.pattern == LISTED], 2)[: _PLACES // 2]
        for one in [*likely, *alike]:
            if lab.may_call(subject, most):
                values = {**subject.base.values, slot.path: one.value, **_companions(lab, subject, slot, one)}
                await lab.try_values(subject, values, "observed")


def is_called(names: tuple[str, ...]) -> bool:
    """Whether what stands under these names is what people call a thing."""
    return bool(set(words(names[-1] if names else "")[-1:]) & _CALLED)


def shape(value: Any) -> str:
    """Give the look of a value: digits as 9, letters as a, the rest as it is; numbers look alike."""
    if isinstance(value, int | float):
        return "number"
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", str(value)))


def _companions(lab: Laboratory, subject: Subject, slot: Slot, one: Seen) -> dict[str, Any]:
    """Give the values of other arguments that stand beside a value: with the same name but for the last word."""
    found: dict[str, Any] = {}
    head = one.atom.path.rpartition(".")[0]
    for other in subject.slots:
        if other.path == slot.path or other.path not in (subject.base.values if subject.base else {}):
            continue
        if not {"latitude", "longitude"} & set(words(other.name)):
            continue
        for atom in lab.atoms(one.trial):
            beside = atom.path.rpartition(".")[0] == head
            if beside and likeness(other.path, subject.name, atom.names, one.trial.tool) >= 0.9:
                value = as_argument(atom.value, other)
                if value is not None:
                    found[other.path] = value
                    break
    return found


def flows_of(lab: Laboratory) -> tuple[Flow, ...]:
    """Give what flows between tools, evidence first.

    Into an argument that takes known values only flows every value that it accepted and that stands, not as an echo,
    in another tool's result; a value that may stand there by chance counts where the names agree, or where the place
    gave two that were accepted and none that was not. Into an argument that takes anything flows what was accepted
    and has the same telling name.
    """
    closed = closed_slots(lab.subjects)
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
            refused = strangers_refused(subject, slot)
            is_closed = (subject.name, slot.path) in closed
            for flow in _into(subject, slot, places, refused, planted=planted, order=order, is_closed=is_closed):
                found.setdefault((flow.source, flow.source_path, flow.pattern, flow.target, flow.target_path), flow)
    return tuple(
        sorted(_best(found.values()), key=lambda one: (one.source, one.target, one.target_path, one.source_path))
    )


def _into(
    subject: Subject,
    slot: Slot,
    places: list[Spot],
    refused: list[Any],
    *,
    planted: Planted,
    order: dict[int, int],
    is_closed: bool,
) -> Iterator[Flow]:
    accepted = {str(trial.values[slot.path]) for trial in subject.gives() if slot.path in trial.values}
    strangers = {str(value) for value in refused}
    last_refused = {
        str(trial.values[slot.path]): order[id(trial)]
        for trial in subject.trials
        if slot.path in trial.values and not trial.ok
    }
    telling = bool(set(words(slot.name)) - GENERIC)
    named = {str(value) for value in (*declared(slot), *described(slot, subject.spec.description))}
    for spot in places:
        if spot.tool == subject.name and not subject.is_read:
            continue
        like = likeness(slot.path, subject.name, spot.names, spot.tool)
        since = {
            str(value): (value, spot.since[key])
            for key, raw in spot.values.items()
            if (value := as_argument(raw, slot)) is not None and fits(value, slot)
        }
        taken = [value for value, _ in since.values()]
        fitting = [
            value
            for value in taken
            if str(value) in accepted
            and (like >= 0.9 or str(value) not in named)
            and (like >= 0.5 or planted.get(str(value), set()) <= {spot.tool})
        ]
        turned_down = [  # after it stood there, that is
            value
            for text, (value, position) in since.items()
            if text in strangers - accepted and last_refused.get(text, -1) > position
        ]
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
    if len(turned_down) > len(fitting):
        return False
    last = set(words(slot.name)[-1:])
    if last & _ASKS and not (looks_up and is_closed and is_natural and spot.origin == "result"):
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
    if last & _ASKS:
        return is_called(spot.names) and len(fitting) >= 2
    if like >= 0.5 or any(is_specific(value) for value in fitting):
        return not (spot.origin == "argument" and like < 0.5 and not any(is_specific(value) for value in fitting))
    is_text = all(isinstance(value, str) for value in spot.values.values()) and spot.pattern in ("", LISTED)
    return is_text and spot.origin == "result" and len(fitting) >= 2 and not turned_down


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


def is_meant(names: tuple[str, ...], tool: str, slot: Slot) -> bool:
    """Whether the description of an argument names what a place holds: `the name of the task` for `tasks.*.name`."""
    head = set(words(names[-1] if names else "")[-1:])
    about = nouns(*names[:-1]) or nouns(tool)
    said = set(words(slot.described))
    return bool(head & {"name", "id", "key", "code", "number"}) and head <= said and bool(about & said)


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
