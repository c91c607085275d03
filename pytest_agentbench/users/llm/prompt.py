"""What the model that plays the user is told: the files of `prompts`, filled with what its view holds."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.json_values import JsonValue, to_json
from pytest_agentbench.llm.templates import Templates

TEMPLATE = "user.v2"
"""The template in force; a changed prompt is a new file, since recorded answers belong to the old one."""

_TEMPLATES = Templates("pytest_agentbench.users.llm")
_PART = re.compile(r"^\{\{#(?P<name>\w+)\}\}\n(?P<body>.*?)^\{\{/(?P=name)\}\}\n", re.DOTALL | re.MULTILINE)
_SPEAKER = {"user": "You", "assistant": "Agent", "tool": "Your tool"}
_PLACE = re.compile(r"\{\{(?P<name>\w+)\}\}")


def system_prompt(view: View, behaviours: Sequence[str] = (), *, language: str = "", say: str = "") -> str:
    """Fill the template; `behaviours` say how the user behaves beyond what the scenario tells, `say` is how it speaks.

    `language` is a code like `fr` or `pt-BR`. A code that has no English name, and none, leave it to the notes.
    """
    named_language = _in_english(language)
    named = [f"{str(name).replace('_', ' ')}: {_text_of(to_json(value))}" for name, value in view.knows.items()]
    # our own scenarios hold what is known by name, and once more as the text that the task's format asks for
    known = [line.strip() for line in view.known_info.splitlines() if line.strip() and line.strip() not in named]
    unknown = [line.strip() for item in view.unknown for line in item.splitlines() if line.strip()]
    values = {
        "persona": view.persona or "",
        "goal": view.goal,
        "lines": "\n".join(f"{number}. {line}" for number, line in enumerate(view.says, start=1)),
        "known": "\n".join([*known, *(f"- {fact}" for fact in named)]),
        "unknown": listed(list(dict.fromkeys(unknown))),
        "instructions": view.task_instructions,
        "behaviours": listed(behaviours),
        "tools": say,
        "language": named_language,
        "unnamed_language": "" if named_language else "yes",
    }
    said = "\n".join(f"{_SPEAKER[one.role]}: {one.text}" for one in view.earlier if one.text)
    earlier = [render("earlier.v1", {"earlier": said})] if said else []
    return "\n\n".join([render(TEMPLATE, values), *earlier])


def listed(texts: Sequence[str]) -> str:
    """Give texts as the entries of a list."""
    return "\n".join(f"- {text}" for text in texts)


def render(name: str, values: Mapping[str, str]) -> str:
    """Fill the template `prompts/<name>.md`; what is inserted is not read again for places.

    A part between `{{#name}}` and `{{/name}}` is left out where its value is empty.
    """
    given = {key: value.strip() for key, value in values.items()}
    text = _PART.sub(lambda part: part["body"] if given[part["name"]] else "", _TEMPLATES.text(name))
    return _PLACE.sub(lambda place: given[place["name"]], text).strip()


@cache
def own_words(name: str) -> str:
    """Give what a template says itself, without its places and its worked example."""
    text = _PART.sub(lambda part: part["body"], _TEMPLATES.text(name))
    return _PLACE.sub(" ", text).partition("# Example")[0]


def _text_of(value: JsonValue) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text_of, value))
    return value if isinstance(value, str) else dumps(value)


def _in_english(language: str) -> str:
    from babel import Locale, UnknownLocaleError  # noqa: PLC0415 - most suites name no language

    try:
        return Locale.parse(language.replace("-", "_")).get_display_name("en") or "" if language else ""
    except (UnknownLocaleError, ValueError):  # the path of a file of the suite's own
        return ""
