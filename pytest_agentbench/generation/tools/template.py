"""Prompt templates of the roles of generation: versioned files with `{{name}}` places."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_PLACE = re.compile(r"\{\{(?P<name>\w+)\}\}")


def render(name: str, values: Mapping[str, str]) -> str:
    """Fill the template `prompts/<name>.md`; what is inserted is not read again for places."""
    return _PLACE.sub(lambda place: values[place["name"]], _template(name)).strip()


@cache
def _template(name: str) -> str:
    return (files(__package__) / "prompts" / f"{name}.md").read_text(encoding="utf-8")
