"""A page as a browser reads it, without a browser: elements, what scripts hold, and what text is there."""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})


@dataclass
class Element:
    """One element with its attributes and the text directly within."""

    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Parsed(HTMLParser):
    """All elements of a page, in order."""

    elements: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin."""
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        """Leave the innermost element; the page closes what it opens."""
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        """Keep text."""
        if self._open:
            self._open[-1].text += data

    def of(self, tag: str) -> list[Element]:
        """The elements of a kind."""
        return [element for element in self.elements if element.tag == tag]

    def data(self) -> dict[str, Any]:
        """What the page holds about all runs."""
        (script,) = [one for one in self.of("script") if one.attributes.get("id") == "data"]
        return json.loads(script.text)

    def run(self, place: int) -> dict[str, Any]:
        """What the page holds about one run."""
        (script,) = [one for one in self.of("script") if one.attributes.get("id") == f"run-{place}"]
        return json.loads(script.text)

    def policy(self) -> dict[str, list[str]]:
        """The content security policy by directive."""
        (meta,) = [one for one in self.of("meta") if one.attributes.get("http-equiv") == "Content-Security-Policy"]
        parts = (part.split() for part in meta.attributes["content"].split(";"))
        return {name: sources for name, *sources in parts}


def parse(text: str) -> Parsed:
    """Read a page."""
    parsed = Parsed()
    parsed.feed(text)
    parsed.close()
    assert not parsed._open
    return parsed


def digest(text: str) -> str:
    """Give the hash of an inline script or style as a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def strings(value: Any) -> list[str]:
    """Every text in a JSON value, names included."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for name, one in value.items() for text in (name, *strings(one))]
    return [text for one in value for text in strings(one)] if isinstance(value, list) else []
