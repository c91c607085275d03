"""Prompt templates of a package: versioned files `prompts/<name>.md` with `{{name}}` places."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_PLACE = re.compile(r"\{\{(?P<name>\w+)\}\}")


@dataclass(frozen=True)
class Templates:
    """The templates in the folder `prompts` of a package."""

    package: str

    def render(self, name: str, values: Mapping[str, str]) -> str:
        """Fill a template; what is inserted is not read again. Raise `KeyError` for a place without a value."""
        return _PLACE.sub(lambda place: values[place["name"]], self.text(name)).strip()

    def text(self, name: str) -> str:
        """Give a template as it stands in its file."""
        return _read(self.package, name)


@cache
def _read(package: str, name: str) -> str:
    return (files(package) / "prompts" / f"{name}.md").read_text(encoding="utf-8")
