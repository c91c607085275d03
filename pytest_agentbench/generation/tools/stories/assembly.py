"""Assembly: a story becomes a scenario file, by structure alone; no role is asked any more (tool-to-scenario §4.4)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.recipe import PROVENANCE, Hashes
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.stories.facts import said_at
from pytest_agentbench.generation.tools.stories.persona import known_values
from pytest_agentbench.generation.tools.values import Cards, Persona, Story
from pytest_agentbench.generation.tools.walks.sampling import calls_of, class_of

CALLS = "calls"
"""The key of the provenance under which the origin of each expected call's arguments stands."""

FACTS = "facts"
"""The key of the provenance under which the origin of what must be told stands."""

_BARE = re.compile(r"[A-Za-zÀ-ÿ][A-Za-zÀ-ÿ .,'’_-]*[A-Za-zÀ-ÿ.]")
_RESERVED = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"))
_LINE = 90
"""Characters up to which a list or mapping of plain values is written on one line."""
_NAMED = 3
"""Tools that an id names."""
HEAD = "# Written by `agentbench generate`; edits are lost when it is run again.\n"
"""The first line of a generated file, by which later sessions know it as their own."""


def scenario_form(
    story: Story, persona: Persona, cards: Cards, *, name: str, hashes: Hashes, seed: int
) -> dict[str, JsonValue]:
    """Give a scenario in our own form: user lines, known values, expected calls with their provenance.

    Every expected call counts, reads too (the paper's complete success), in any order. The complexity of such a
    scenario is the number of its expected calls.
    """
    calls = [step for step in story.steps if step.call is not None]
    told = facts_told(story)
    lines = [step.sentence for step in story.steps if step.operation == "select"]
    form: dict[str, JsonValue] = {
        "id": name,
        "title": story.summary,
        "description": {"purpose": story.summary},
        "goal": persona.reason_for_call,
        "persona": persona.known_info,
        "instructions": persona.task_instructions,
        "says": [{"request": line} if place else line for place, line in enumerate(lines)],
        "knows": known_values(story, cards) or persona.known_info,
    }
    if persona.unknown_info:
        form["unknown"] = persona.unknown_info
    if persona.modifiers:
        form["modifiers"] = list(persona.modifiers)
    form["expect"] = [
        {"name": step.call.name, "arguments": step.call.arguments, "compare_args": step.call.compare_args}
        for step in calls
        if step.call is not None
    ]
    if told:
        form["communicate"] = [text for _, text in told]
    form["match"] = {"expected_calls": "all"}
    form["tags"] = ["generated", class_of(story.walk), *(["failure"] if story.walk.enriched else [])]
    form["provenance"] = {
        PROVENANCE: hashes.model_dump(),
        "story": story.id,
        "seed": seed,
        "language": story.language,
        "path": " > ".join(story.walk.nodes),
        CALLS: [
            {
                "answer": digest(step.content),
                "arguments": {one.argument: _origin(one.model_dump(exclude_defaults=True)) for one in step.provenance},
            }
            for step in calls
        ],
        FACTS: [origin for origin, _ in told],
    }
    return form


def scenario_id(story: Story) -> str:
    """Name a scenario by its first tools, in words, and by its walk, so that it stays when others come and go."""
    names = [humanize(tool).replace(" ", "-") for tool in dict.fromkeys(calls_of(story.walk))]
    more = f"-{len(names) - _NAMED}-more" if len(names) > _NAMED else ""
    return f"{'-'.join(names[:_NAMED])[:70]}{more}-{story.id}"


def facts_told(story: Story) -> list[tuple[dict[str, JsonValue], str]]:
    """Give what the agent must tell: where it stands (call, path) and how it is said."""
    told: list[tuple[dict[str, JsonValue], str]] = []
    call, content = -1, ""
    for step in story.steps:
        if step.call is not None:
            call, content = call + 1, step.content
        for name, path in step.facts.items():
            text = said_at(parsed(content), path)
            if text is not None:
                told.append(({"name": name, "call": call, "path": path}, text))
    return told


def yaml_text(forms: Sequence[Mapping[str, JsonValue]]) -> str:
    """Give scenarios as YAML that is read back exactly: every text that could be read as something else is quoted.

    `${` in texts is written `$${`, since scenario files take variables from the environment.
    """
    escaped = [_escaped(form) for form in forms]
    text: str = yaml.dump(
        escaped[0] if len(escaped) == 1 else escaped,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=110,
    )
    return HEAD + text


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


def _origin(one: dict[str, JsonValue]) -> JsonValue:
    """Write an origin shortly: `pool find_parcel.3`, or `{call: 0, path: results.0.id}`."""
    if one.get("source") == "pool":
        return f"pool {one.get('entry', '')}"
    return {"call": one.get("call", 0), "path": one.get("path", "")}
