"""Prompt templates: files with `{{name}}` places and `{{#name}}` … `{{/name}}` parts that an empty value leaves out."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_PART = re.compile(r"^\{\{#(?P<name>\w+)\}\}\n(?P<body>.*?)^\{\{/(?P=name)\}\}\n", re.DOTALL | re.MULTILINE)
_PLACE = re.compile(r"\{\{(?P<name>\w+)\}\}")


def render(name: str, values: Mapping[str, str]) -> str:
    """Fill the template `prompts/<name>.md`; what is inserted is not read again for places."""
    chosen = _PART.sub(lambda part: part["body"] if values[part["name"]].strip() else "", _template(name))
    return _PLACE.sub(lambda place: values[place["name"]].strip(), chosen).strip()


@cache
def _template(name: str) -> str:
    return (files(__package__) / "prompts" / f"{name}.md").read_text(encoding="utf-8")
