"""Prompt templates: files with `{{name}}` places and `{{#name}}` … `{{/name}}` parts that an empty value leaves out."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_PART = re.compile(r"^\{\{#(?P<name>\w+)\}\}\n(?P<body>.*?)^\{\{/(?P=name)\}\}\n", re.DOTALL | re.MULTILINE)
_PLACE = re.compile(r"\{\{(?P<name>\w+)\}\}")

_Pieces = tuple[tuple[str, str], ...]
"""Texts, and names of places, in order: of each pair one is empty."""


def render(name: str, values: Mapping[str, str]) -> str:
    """Fill the template `prompts/<name>.md`; what is inserted is not read again for places."""
    given = {key: value.strip() for key, value in values.items()}
    chosen = (pieces for condition, pieces in _template(name) if not condition or given[condition])
    return "".join(text or given[place] for pieces in chosen for text, place in pieces).strip()


@cache
def _template(name: str) -> tuple[tuple[str, _Pieces], ...]:
    """Give the template in parts, each with the name of the value that it hangs on, `""` for none."""
    text = (files(__package__) / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    parts: list[tuple[str, _Pieces]] = []
    end = 0
    for part in _PART.finditer(text):
        parts += [("", _pieces(text[end : part.start()])), (part["name"], _pieces(part["body"]))]
        end = part.end()
    return (*parts, ("", _pieces(text[end:])))


def _pieces(text: str) -> _Pieces:
    # what `split` gives alternates: text, the name of a place, text, …
    split = _PLACE.split(text)
    return tuple(("", piece) if at % 2 else (piece, "") for at, piece in enumerate(split) if piece)
