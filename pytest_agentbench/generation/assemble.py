"""Assembly: a worded draft becomes scenarios in our own form, one for each persona, by structure alone."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.draft import Draft, Origin, Persona, PolicyPart
from pytest_agentbench.generation.language.plain import PLAIN, words_of
from pytest_agentbench.generation.recipe import PROVENANCE, Hashes

CALLS = "calls"
"""The key of the provenance under which the origin of each expected call's arguments stands."""

FACTS = "facts"
"""The key of the provenance under which the origin of what must be told stands."""

HEAD = "# Written by `agentbench generate`; edits are lost when it is run again.\n"
"""The first line of a generated file, by which later sessions know it as their own."""

PLAIN_NOTE = "Worded by plain phrases, without a model; to have it reworded: agentbench generate {suite} --reword"
"""The note in the header of a scenario that no model worded."""

_NAMED = 3
"""Tools that an id names."""
_TITLE = 120
_LINE = 90
"""Characters up to which a list or mapping of plain values is written on one line."""
_BARE = re.compile(r"[A-Za-zÀ-ÿ][A-Za-zÀ-ÿ .,'’_-]*[A-Za-zÀ-ÿ.]")
_RESERVED = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"))


def scenario_id(draft: Draft) -> str:
    """Name a scenario by its first tools, in words, and by its draft, so that it stays when others come and go."""
    asked = [call for turn in draft.turns for call in (*turn.refused, *turn.calls) if call.asked]
    names = [words_of(call.call.name).replace(" ", "-") for call in asked]
    several = list(dict.fromkeys(filter(None, names)))
    more = f"-{len(several) - _NAMED}-more" if len(several) > _NAMED else ""
    refused = "-refused" if any(turn.refused and turn.act == "request" for turn in draft.turns) else ""
    return f"{'-'.join(several[:_NAMED])[:70] or 'talk'}{more}{refused}-{draft.id}"


def scenario_forms(draft: Draft, *, hashes: Hashes, seed: int) -> tuple[dict[str, JsonValue], ...]:
    """Give the scenarios of a draft: one for each of its personas, one without where it has none."""
    personas: Sequence[Persona | None] = draft.personas or (None,)
    return tuple(
        _form(draft, persona, name=scenario_id(draft) + (f"-p{place + 1}" if place else ""), hashes=hashes, seed=seed)
        for place, persona in enumerate(personas)
    )


def _form(draft: Draft, persona: Persona | None, *, name: str, hashes: Hashes, seed: int) -> dict[str, JsonValue]:
    told = list(_told(draft))
    writes = any(call.writes and not call.fails for call in draft.calls)
    unknown = [*draft.unknown, *([persona.unknown_info] if persona and persona.unknown_info else [])]
    form: dict[str, Any] = {
        "id": name,
        "title": _title(draft),
        "description": {"purpose": draft.purpose or _title(draft), **_if("notes", draft.situation)},
        "goal": persona and persona.reason_for_call,
        "persona": persona and persona.known_info,
        "instructions": persona and persona.task_instructions,
        "says": [{turn.act: turn.line, **_if("about", list(turn.about))} for turn in draft.turns],
        "language": None if draft.language == "en" else draft.language,
        "knows": dict(draft.values),
        "unknown": list(dict.fromkeys(unknown)),
        "modifiers": list(persona.modifiers) if persona else [],
        "state": draft.state,
    }
    rest: dict[str, Any] = {
        "never": [_call(call) for call in draft.forbidden],
        "communicate": [text for _, text in told],
        "faults": [one.model_dump(mode="json") for one in draft.faults],
        "match": _match(draft, is_decided=writes or bool(told)),
        "policies": [one.policy for one in draft.policies],
    }
    return {
        **{key: value for key, value in form.items() if value},
        "expect": [_call(call.call) for call in draft.calls if not call.fails],
        **{key: value for key, value in rest.items() if value},
        "tags": list(dict.fromkeys(["generated", *draft.tags])),
        "provenance": _provenance(draft, told, hashes, seed),
    }


def _match(draft: Draft, *, is_decided: bool) -> dict[str, JsonValue]:
    """Ask for reads, or an order, only where nothing is refused or declined.

    Where nothing is written and nothing told, the state alone would pass an agent that does nothing, so reads decide.
    A right agent that refuses, or asks "Shall I?" and hears no, may have read nothing: what it must say decides there,
    or the draft is lost as vacuous.
    """
    if any(turn.refused or turn.act == "decline" for turn in draft.turns):
        return {}
    return {**_if("order", draft.ordered and "in_order"), **_if("expected_calls", not is_decided and "all")}


def _if(key: str, value: JsonValue) -> dict[str, JsonValue]:
    return {key: value} if value else {}


def _provenance(
    draft: Draft, told: Sequence[tuple[dict[str, JsonValue], str]], hashes: Hashes, seed: int
) -> dict[str, JsonValue]:
    found: dict[str, Any] = {
        PROVENANCE: hashes.model_dump(),
        "draft": draft.id,
        "seed": seed,
        "language": draft.language,
        "worded": draft.worded_by,
        **draft.provenance,
    }
    if owner := draft.owner.model_dump(exclude_defaults=True):
        found["owner"] = owner
    places = _places(draft)
    found[CALLS] = [
        {
            "answer": digest(call.answer),
            "arguments": {path: _origin(one, places) for path, one in call.origins.items()},
        }
        for call in draft.calls
        if not call.fails
    ]
    found[FACTS] = [origin for origin, _ in told]
    if draft.policies:
        found["decided_by"] = {one.policy: _handled(one) for one in draft.policies}
        found["wrong_runs"] = [
            {"policy": one.policy, "change": run.change, "finding": run.finding}
            for one in draft.policies
            for run in one.wrong_runs
            if run.finding
        ]
    return found


def _handled(part: PolicyPart) -> str:
    return ": ".join(filter(None, (part.handling, part.reason or part.involves)))


def _told(draft: Draft) -> Iterator[tuple[dict[str, JsonValue], str]]:
    """Give what the agent must tell: where it stands (call, path) and how it is said; then what stands nowhere."""
    at = 0
    places = _places(draft)
    seen: set[str] = set()
    for turn in draft.turns:
        for one in turn.wanted:
            if one.text not in seen:
                seen.add(one.text)
                yield {"name": one.label, "call": places.get(at + one.call, 0), "path": one.path}, one.text
        at += len(turn.calls)
    for text in draft.communicate:
        if text not in seen:
            seen.add(text)
            yield {}, text


def _title(draft: Draft) -> str:
    asked = [call for turn in draft.turns for call in (*turn.refused, *turn.calls) if call.asked]
    actions = dict.fromkeys(words_of(call.call.name) for call in asked)
    return (draft.purpose or ", then ".join(actions) or draft.id)[:_TITLE]


def _call(call: ExpectedCall) -> dict[str, JsonValue]:
    form: dict[str, JsonValue] = {"name": call.name, "arguments": dict(call.arguments)}
    if call.compare_args is not None:
        form["compare_args"] = list(call.compare_args)
    if call.requestor != "assistant":
        form["requestor"] = call.requestor
    return form


def _places(draft: Draft) -> dict[int, int]:
    """Give the place among the expected calls of each of a draft's calls; what is to fail is not expected."""
    return {number: place for place, number in enumerate(n for n, one in enumerate(draft.calls) if not one.fails)}


def _origin(one: Origin, places: Mapping[int, int]) -> JsonValue:
    """Write an origin shortly: `pool find_parcel.3`, `user`, or `{call: 0, path: results.0.id}`."""
    if one.source == "user":
        return f"pool {one.entry}" if one.entry else "user"
    return {"call": places.get(one.call or 0, 0), "path": one.path}


def yaml_text(forms: Sequence[Mapping[str, JsonValue]], notes: Sequence[str] = ()) -> str:
    """Give scenarios as YAML that is read back exactly: every text that could be read as something else is quoted.

    `${` in texts is written `$${`, since scenario files take variables from the environment. `notes` are comments.
    """
    escaped = [_escaped(form) for form in forms]
    text: str = yaml.dump(
        escaped[0] if len(escaped) == 1 else escaped, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110
    )
    return HEAD + "".join(f"# {' '.join(note.split())}\n" for note in notes) + text


def notes_of(draft: Draft, suite: str) -> tuple[str, ...]:
    """Give the notes in the header of a draft's file."""
    plain = [PLAIN_NOTE.format(suite=suite)] if draft.worded_by == PLAIN else []
    return (*plain, *draft.notes)


class _Dumper(yaml.SafeDumper):
    """Quotes every text that is not plainly words, and gives no anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    is_bare = _BARE.fullmatch(value) is not None and value.lower() not in _RESERVED
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if is_bare else '"')


def _list(dumper: yaml.SafeDumper, value: list[JsonValue]) -> yaml.SequenceNode:
    """Write a short list of plain values on one line."""
    is_short = (
        all(not isinstance(item, list | dict) for item in value) and sum(len(str(one)) + 4 for one in value) < _LINE
    )
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=is_short)


def _mapping(dumper: yaml.SafeDumper, value: dict[str, JsonValue]) -> yaml.MappingNode:
    """Write a short mapping of plain values on one line."""
    is_flat = all(not isinstance(item, list | dict) for item in value.values()) and "\n" not in str(value)
    is_short = is_flat and sum(len(str(key)) + len(str(item)) + 6 for key, item in value.items()) < _LINE
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=is_short)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(dict, _mapping)


def _escaped(value: Any) -> JsonValue:
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, Mapping):
        return {str(key): _escaped(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(item) for item in value]
    return value
