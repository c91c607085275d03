"""Assembly: a worded draft becomes scenarios in our own form, one for each persona, by structure alone."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import yaml

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.text import shorten
from pytest_agentbench.generation.draft import Draft, Origin, Persona
from pytest_agentbench.generation.language.plain import PLAIN, words_of
from pytest_agentbench.generation.recipe import PROVENANCE, Hashes
from pytest_agentbench.suites.task_fields import HANDOFF

CALLS, FACTS = "calls", "facts"
"""The keys of the provenance under which the origins of expected arguments, and of what must be told, stand."""

HEAD = "# Written by `agentbench generate`; edits are lost when it is run again.\n"
"""The first line of a generated file, by which later sessions know it as their own."""

_PLAIN_NOTE = "One request, plain phrases, real calls; a model rewords it: agentbench generate {suite} --reword"
_LONGEST_NAME = 40
"""Characters of the deed that an id names."""
_TITLE = 120
_LINE = 90
"""Characters up to which a list or mapping of plain values is written on one line."""
_BARE = re.compile(r"[A-Za-zÀ-ÿ][A-Za-zÀ-ÿ .,'’_-]*[A-Za-zÀ-ÿ.]")
_RESERVED = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"))


def scenario_id(draft: Draft) -> str:
    """Name a scenario by its last change, or its last call, and by its draft: it stays when others come and go."""
    changes = [call for call in draft.asked if call.writes] or draft.asked
    deed = "-".join(words_of(changes[-1].call.name).split())[:_LONGEST_NAME].strip("-") if changes else ""
    refused = "-refused" if any(turn.refused and turn.act == "request" for turn in draft.turns) else ""
    return f"{deed or 'talk'}{refused}-{draft.id}"


def _actions(draft: Draft) -> list[str]:
    return [name for name in dict.fromkeys(words_of(call.call.name) for call in draft.asked) if name]


def scenario_forms(draft: Draft, *, hashes: Hashes, seed: int) -> tuple[dict[str, JsonValue], ...]:
    """Give the scenarios of a draft: one for each of its personas, one without where it has none."""
    facts = _facts(draft)
    title = shorten(draft.purpose or ", then ".join(_actions(draft)) or draft.id, _TITLE)
    provenance = _provenance(draft, list(facts.values()), hashes, seed)

    def form(place: int, persona: Persona | None) -> dict[str, JsonValue]:
        unknown = [*draft.unknown, *([persona.unknown_info] if persona and persona.unknown_info else [])]
        found: dict[str, Any] = {
            "id": scenario_id(draft) + (f"-p{place + 1}" if place else ""),
            "title": title,
            "description": _filled({"purpose": draft.purpose or title, "notes": draft.situation}),
            "goal": persona and persona.reason_for_call,
            "persona": persona and persona.known_info if draft.worded_by != PLAIN else None,  # `knows` says the same
            "instructions": persona and persona.task_instructions,
            "says": [_filled({turn.act: turn.line, "about": list(turn.about)}, turn.act) for turn in draft.turns],
            "language": None if draft.language == "en" else draft.language,
            "knows": draft.known,
            "unknown": list(dict.fromkeys(unknown)),
            "modifiers": list(persona.modifiers) if persona else [],
            "state": draft.state,
            "expect": list(_expected(draft)),
            "never": [_call(call) for call in draft.forbidden],
            "communicate": list(facts),
            "match": _match(draft),
            "policies": [one.policy for one in draft.policies],
            "tags": list(dict.fromkeys(["generated", *draft.tags])),
            "provenance": provenance,
        }
        return _filled(found, "expect")

    personas: Sequence[Persona | None] = draft.personas or (None,)
    return tuple(form(place, persona) for place, persona in enumerate(personas))


def _filled(form: Mapping[str, Any], *always: str) -> dict[str, JsonValue]:
    """Leave out what is empty, but for what is `always` there."""
    return {key: value for key, value in form.items() if value or key in always}


def _match(draft: Draft) -> dict[str, JsonValue]:
    """Ask for reads only where nothing is refused or declined.

    A right agent that refuses, or asks "Shall I?" and hears no, may have read nothing: what it must say decides there,
    or the draft is lost as vacuous.
    """
    if any(turn.refused or turn.act == "decline" for turn in draft.turns):
        return {}
    return {"expected_calls": "all"} if _reads_decide(draft) else {}


def _reads_decide(draft: Draft) -> bool:
    """Whether nothing is written and nothing told: the state alone would pass an agent that does nothing."""
    tells = draft.communicate or any(turn.wanted for turn in draft.turns)
    return not tells and not any(call.writes and not call.fails for call in draft.calls)


def _facts(draft: Draft) -> dict[str, dict[str, JsonValue]]:
    """Give what the agent must tell, as it is said, with the call and path where it stands; {} for nowhere."""
    places, at = _places(draft), 0
    found: dict[str, dict[str, JsonValue]] = {}
    for turn in draft.turns:
        for one in turn.wanted:
            found.setdefault(one.text, {"name": one.label, "call": places.get(at + one.call, 0), "path": one.path})
        at += len(turn.calls)
    for text in draft.communicate:
        found.setdefault(text, {})
    return found


def _expected(draft: Draft) -> Iterator[JsonValue]:
    """Yield the expected calls, and each handoff before the call that it is needed for."""
    places = _places(draft)
    for number, call in enumerate(draft.calls):
        yield from ({HANDOFF: one.to} for one in draft.handoffs if one.place == number)
        if number in places:
            yield _call(call.call)


def _call(call: ExpectedCall) -> dict[str, JsonValue]:
    more = {
        "compare_args": None if call.compare_args is None else list(call.compare_args),
        "requestor": None if call.requestor == "assistant" else call.requestor,
    }
    given = {key: value for key, value in more.items() if value is not None}
    return {"name": call.name, "arguments": dict(call.arguments), **given}


def _provenance(draft: Draft, facts: list[JsonValue], hashes: Hashes, seed: int) -> dict[str, JsonValue]:
    places = _places(draft)
    found: dict[str, Any] = {
        PROVENANCE: hashes.model_dump(),
        "draft": draft.id,
        "seed": seed,
        "language": draft.language,
        "worded": draft.worded_by,
        **draft.provenance,
    }
    if owner := draft.owner.model_dump(exclude_defaults=True, exclude={"facts"}):
        found["owner"] = owner
    found[CALLS] = [
        {
            "answer": digest(call.answer),
            "arguments": {path: _origin(one, places) for path, one in call.origins.items()},
        }
        for number, call in enumerate(draft.calls)
        if number in places
    ]
    found[FACTS] = facts
    if draft.policies:
        found["decided_by"] = {
            one.policy: ": ".join(filter(None, (one.handling, one.reason or one.involves))) for one in draft.policies
        }
        found["wrong_runs"] = [
            {"policy": one.policy, "change": run.change, "finding": run.finding}
            for one in draft.policies
            for run in one.wrong_runs
            if run.finding
        ]
    return found


def _places(draft: Draft) -> dict[int, int]:
    """Give the place among the expected calls of each of a draft's calls; what is to fail is not expected.

    Where reads decide, those that nobody asks for are not, either: an agent may know what they tell.
    """
    is_free = _reads_decide(draft)
    expected = [n for n, one in enumerate(draft.calls) if not one.fails and (one.asked or not is_free)]
    return {number: place for place, number in enumerate(expected)}


def _origin(one: Origin, places: Mapping[int, int]) -> JsonValue:
    """Write an origin shortly: `pool find_parcel.3`, `user`, `{call: 0, path: results.0.id}`, `lookup id`."""
    if one.source == "user":
        return f"pool {one.entry}" if one.entry else "user"
    place = None if one.call is None else places.get(one.call)
    return f"lookup {one.path}" if place is None else {"call": place, "path": one.path}


def notes_of(draft: Draft, suite: str) -> tuple[str, ...]:
    """Give the notes in the header of a draft's file."""
    return (*([_PLAIN_NOTE.format(suite=suite)] if draft.worded_by == PLAIN else []), *draft.notes)


def yaml_text(forms: Sequence[Mapping[str, JsonValue]], notes: Sequence[str] = ()) -> str:
    """Give scenarios as YAML that is read back exactly: every text that could be read as something else is quoted.

    `${` in texts is written `$${`, since scenario files take variables from the environment. `notes` are comments.
    """
    whole = [_escaped(form) for form in forms]
    form = whole[0] if len(whole) == 1 else whole
    text: str = yaml.dump(form, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    return HEAD + "".join(f"# {' '.join(note.split())}\n" for note in notes) + text


def _escaped(value: Any) -> JsonValue:
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, Mapping):
        return {str(key): _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list | tuple) else value


class _Dumper(yaml.SafeDumper):
    """Quotes every text that is not plainly words, writes short lists and mappings on a line, and gives no anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def text(self, value: str) -> yaml.ScalarNode:
        is_bare = _BARE.fullmatch(value) is not None and value.lower() not in _RESERVED
        return self.represent_scalar("tag:yaml.org,2002:str", value, style=None if is_bare else '"')

    def list(self, value: list[JsonValue]) -> yaml.SequenceNode:
        is_short = _is_flat(value) and sum(len(str(one)) + 4 for one in value) < _LINE
        return self.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=is_short)

    def mapping(self, value: dict[str, JsonValue]) -> yaml.MappingNode:
        width = sum(len(str(key)) + len(str(item)) + 6 for key, item in value.items())
        is_short = width < _LINE and _is_flat(value.values()) and "\n" not in str(value)
        return self.represent_mapping("tag:yaml.org,2002:map", value, flow_style=is_short)


_Dumper.add_representer(str, _Dumper.text)
_Dumper.add_representer(list, _Dumper.list)
_Dumper.add_representer(dict, _Dumper.mapping)


def _is_flat(values: Iterable[JsonValue]) -> bool:
    return not any(isinstance(item, list | dict) for item in values)
