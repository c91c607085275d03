"""What a refusal says: which argument's value it repeats, and which values it names that are worth a try."""

import re
from collections.abc import Iterator
from typing import Any

from pytest_agentbench.generation.tools.probing.observed import is_specific
from pytest_agentbench.generation.tools.probing.reading import inner, parsed

QUOTED = "quoted"
"""How a refusal repeats a value that it is sure to be about."""


_STATUS = re.compile(r"\s*HTTP \d{3}: (?=[{\[])")
"""How answers of services begin that were refusals (environment.openapi)."""
_LIST = re.compile(r"(['\"`])[^'\"`\n]{1,100}?\1(?:,? (?:and |or )?(['\"`])[^'\"`\n]{1,100}?\2)+")
"""Values in quotes, one after the other."""
_ENDS = re.compile(r"\b(?:from|between) ['\"`]?([\w.:-]{1,20})['\"`]? (?:to|and|through) ['\"`]?([\w.:-]{0,19}\w)")
_SHORT = 3
_SAYS = frozenset({
    "message", "msg", "error", "errors", "reason", "detail", "details", "title", "exception", "hint", "info", "errno",
    "code", "status", "status_code", "statusCode", "traceback", "type",
})  # fmt: skip
"""What services call the fields of a refusal whose names say nothing of arguments."""
_ASIDES = frozenset({"e.g", "i.e"})


def said(content: str) -> str:
    """Give what a refusal says in words: of an object the texts, not what the fields are called that hold messages."""
    found = _STATUS.match(content)
    value = inner(parsed(content[found.end() :] if found else content))
    if not isinstance(value, dict | list):
        return content
    return "\n".join(_texts(value, "")) or content


def _texts(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, "" if key in _SAYS else str(key))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, name)
    elif isinstance(value, str) and value:
        yield f"{name} '{value}'" if name else value
    elif name and value is not None and not isinstance(value, bool):
        yield f"{name} {value}"


def blames(message: str, value: Any, path: str = "") -> str:
    """Say how a refusal repeats a value: in quotes or after the argument's name, at an end, in its midst if no other
    text is like it; "": not.
    """
    text = str(value)
    literal = re.escape(text)
    name = re.escape(_last(path))
    if len(text) > 1 and name and re.search(rf"(?i)(?<!\w){name}[ :='\"]{{1,3}}{literal}(?!\w)", message):
        return QUOTED
    if text and re.search(rf"['\"`«]{literal}['\"`»]", message):
        return QUOTED
    if len(text) < 2 and not isinstance(value, int):
        return ""
    if re.search(rf"[ :/]{literal}\W*$|(?:^|: ){literal}(?![\w/])", message):
        return "at an end"
    return "within" if is_specific(value) and re.search(rf"(?<![\w./]){literal}(?![\w/])", message) else ""


def without_lists(message: str) -> str:
    """Give a refusal without the values that it lists in quotes: `Available fields: 'name', 'city'`."""
    return _LIST.sub("", message)


def names_argument(message: str, path: str) -> bool:
    """Whether a refusal names an argument in quotes: "choose another `at`"."""
    name = re.escape(_last(path))
    return re.search(rf"['\"`]{name}['\"`]", without_lists(message)) is not None


def has_name(message: str, path: str) -> bool:
    """Whether an argument's name is a word of a refusal, if it is no short one: `the first row of source`."""
    name = _last(path)
    return len(name) > _SHORT and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", without_lists(message)) is not None


def ends_in(message: str) -> list[str]:
    """Give the ends of the spans that a refusal states: `a letter from A to C`."""
    return list(dict.fromkeys(end for match in _ENDS.finditer(message) for end in match.groups()))


def speaks_of(message: str, path: str) -> bool:
    """Whether a sentence of a refusal begins with an argument's name: `range needs two rows`."""
    return re.search(rf"(?:^|[:.;\n] ?){re.escape(_last(path))}(?= \w)", message) is not None


def _last(path: str) -> str:
    return next((step for step in reversed(path.split(".")) if step != "*"), "")


def is_news(value: str, known: set[str]) -> bool:
    """Whether a value that a refusal names is one to try: short, and no echo of what was given."""
    if value in known or value in _ASIDES or len(value) > 120 or value.count(" ") > 1:
        return False
    return not any(len(one) > 1 and one in value for one in known)
