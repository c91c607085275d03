"""An elliptical question filled in from the one before: “And edgeLimit?” puts it where something of its "
"kind stood."""

import re
from itertools import takewhile

from notes.text import fold, key_words, stem

_TOKEN = re.compile(r"[^\s?!,;:\"“”«»()]*[^\s?!,;:\"“”«»().']")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_THAT_OF = re.compile(
    r"^(?:(?:that|those|the (?:one|same)|celui|celle|ceux|celles) )?(?:(?:of|for|from|in|with|on|about|de "
    r"la|du|des|de|pour|dans|"
    r"avec|sur|chez)\b ?|de l['’]|d['’])(?:(?:the|la|le|les)\b ?|l['’])?",
    re.IGNORECASE,
)
_ONE = re.compile(r"^(?:the |that |this )?(?P<other>[\w-]+) (?:one|ones)$", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?|le|la|les|un|une|l['’])\b ?", re.IGNORECASE)

_SHAPES = (
    ("figure", re.compile(r"^[v>=<~^]*\d[\w.,x/-]*$")),
    ("constant", re.compile(r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")),
    ("option", re.compile(r"^--?\w[\w-]*$")),
    ("camel", re.compile(r"^[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+(?:\(\))?$")),
    ("pascal", re.compile(r"^(?:[A-Z][a-z0-9]+){2,}(?:\(\))?$")),
    ("joined", re.compile(r"^@?[\w$]+(?:[./_@-][\w$]+)+(?:\(\))?$")),
    ("acronym", re.compile(r"^[A-Z0-9]{2,}s?$")),
    ("name", re.compile(r"^[A-ZÀ-Ý][\w'’-]+$")),
)
_ALIKE = {"camel": "name of code", "pascal": "name of code", "joined": "name of code", "constant": "name of code"}


def shape(token: str) -> str:
    """Give how a word is written: `camel`, `figure`, `name` …; "" for an ordinary one."""
    return next((name for name, pattern in _SHAPES if pattern.match(token)), "")


def own_part(message: str) -> str:
    """Give what an elliptical message names, without what leads to it: `edgeLimit` of “that of edgeLimit”."""
    return _THAT_OF.sub("", message.strip(" ?!.,"), count=1).strip(" ?!.,")


def substituted(question: str, own: str) -> str:
    """Put what a later question names into an earlier one, in the place of what is written alike; "" where nothing is.

    Of several, the one whose beginning or end is most alike gives way. Other words of the later question must be in
    the earlier one, else it asks about something else.
    """
    own = own_part(own)
    one = _ONE.match(own)
    if one:
        return _other_one(question, one["other"])
    tokens = _TOKEN.findall(own)
    said = set(map(stem, key_words(question)))
    written = [token for token in tokens if shape(token) and stem(fold(token)) not in said]
    rest = [name for token in tokens if token not in written for name in key_words(token)]
    if len(written) != 1 or any(stem(name) not in said for name in rest):
        return "" if written else _parallel(question, own)
    new = written[0]
    opening = _TOKEN.match(question)
    start = opening.end() if opening and shape(opening[0]) == "name" else 0
    places = [match for match in _TOKEN.finditer(question, start) if shape(match[0])]
    alike = [match for match in places if shape(match[0]) == shape(new)] or [
        match for match in places if _ALIKE.get(shape(match[0]), "-") == _ALIKE.get(shape(new))
    ]
    if not alike:
        return ""
    old = max(alike, key=lambda match: (_likeness(match[0], new), -match.start()))
    return question[: old.start()] + new + question[old.end() :]


def _parallel(question: str, own: str) -> str:
    """Put “the pancreas dataset” in the place of “the ovarian dataset”: what has a word in common at "
    "one of its ends."""
    names = key_words(own)
    places = [match for match in _TOKEN.finditer(question) if key_words(match[0])]
    if len(names) < 2 or len(places) < 2:
        return ""
    bare = without_article(own)
    for at, place in enumerate(places):
        same = stem(fold(place[0]))
        if same == stem(names[0]) and at + 1 < len(places):
            last = places[min(at + len(names) - 1, len(places) - 1)]
            return question[: place.start()] + bare + question[last.end() :]
        if same == stem(names[-1]) and at > 0:
            first = places[max(at - len(names) + 1, 0)]
            return question[: first.start()] + bare + question[place.end() :]
    return ""


def _likeness(one: str, other: str) -> int:
    """Count the letters that two words begin or end with alike."""
    return _begins_alike(one, other) + _begins_alike(one[::-1], other[::-1])


def _begins_alike(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _other_one(question: str, other: str) -> str:
    """Make “the memory one” of a name with several parts: `MemoryStore` after a question about `DiskStore`."""
    for match in _TOKEN.finditer(question):
        humps = _HUMP.split(match[0])
        if shape(match[0]) == "pascal" and fold(humps[0]) != fold(other):
            new = other[:1].upper() + other[1:] + "".join(humps[1:])
            return question[: match.start()] + new + question[match.end() :]
    return ""


def without_article(text: str) -> str:
    """Leave out an article at the start."""
    return _ARTICLE.sub("", text, count=1)


def code_names(text: str) -> list[str]:
    """Give the words of a text that are written like names of code: `no_proxy`, `maxCount`, `--port`."""
    return [token for token in _TOKEN.findall(text) if _ALIKE.get(shape(token)) or token.startswith("--")]
