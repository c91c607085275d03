"""Codes in sentences: `the file F-318 of the children Ann (no. E-41) and Bea (no. E-42)`, each by what it is a code of.

Codes that begin with the same letters are of one kind, whichever sentence they stand in, so one pattern a kind finds
them again. What they are called is the word before: next to the code, or before the colon that a list follows.
"""

import re
from collections.abc import Iterator

from pytest_agentbench.core.text import without_accents

_CODE = re.compile(r"(?<![\w-])([A-Z]{1,6})-(\d{1,12})(?![\w-])")
_FORM = r"(?<![\w-])({letters}-\d{{1,12}})(?![\w-])"
_FORMS = re.compile(r"\(\?<!\[\\w-\]\)\(([A-Z]{1,6})-\\d\{1,12\}\)\(\?!\[\\w-\]\)")
_MOST = 25
"""Codes of a text that are read."""
_BEFORE = 160
"""Characters before a code in which the word is looked for that says what it is."""
_CLAUSE = re.compile(r"(?<!\bno)(?<!\bn[or])(?<!\bref)[.!?;]\s|\n", re.I)
_NUMBER_OF = re.compile(r"(?:n[°ºo]\.?|nr\.?|num\.?|num[ée]ro|number|nummer|id|code|ref\.?|[#:=(\[\"'`«])\s*$", re.I)
_LAST = re.compile(r"([^\W\d_]{2,30})\s*$")
_HEADING = re.compile(r"([^:;.!?\n]{2,60}?)\s*:(?=\s)")
_WORDS = re.compile(r"[^\W\d_]{3,30}")
_LITTLE = frozenset({
    "and", "are", "aux", "avec", "das", "dei", "del", "dem", "den", "der", "des", "die", "est", "for", "from",
    "has", "her", "his", "its", "les", "nos", "of", "par", "per", "por", "pour", "ses", "son", "sont", "sous",
    "sur", "the", "their", "una", "und", "une", "von", "vos", "was", "with",
})  # fmt: skip
"""Short words that name no kind of thing."""


def coded(text: str) -> Iterator[tuple[str, str, str]]:
    """Give what each code of a text is called, the code, and the pattern that finds those of its kind.

    Codes that nothing says the kind of are left out.
    """
    called: dict[str, str] = {}
    for place, match in enumerate(_CODE.finditer(text)):
        if place == _MOST:
            return
        name = _label(text[max(match.start() - _BEFORE, 0) : match.start()]) or called.get(match[1], "")
        if name:
            called.setdefault(match[1], name)
            yield name, match[0], _FORM.format(letters=match[1])


def is_coded(pattern: str) -> bool:
    """Whether a pattern finds the codes of one kind."""
    return _FORMS.fullmatch(pattern) is not None


def _label(before: str) -> str:
    """Give the noun that says what follows, in lower case and without accents; "" where none does.

    A word with a capital names one thing (`Ann (no. E-41)`): what it is stands before the colon of the list.
    """
    clause = _CLAUSE.split(before)[-1]
    rest = clause
    while shorter := _NUMBER_OF.sub("", rest.rstrip()):
        if shorter == rest:
            break
        rest = shorter
    last = _LAST.search(rest)
    if last is not None and _is_noun(last[1], is_first=last.start() == 0):
        return without_accents(last[1].lower())
    headings = list(_HEADING.finditer(clause))
    if not headings:
        return ""
    nouns = [
        match[0]
        for match in _WORDS.finditer(headings[-1][1])
        if _is_noun(match[0], is_first=not headings[-1][1][: match.start()].strip())
    ]
    return without_accents(nouns[0].lower()) if nouns else ""


def _is_noun(word: str, *, is_first: bool) -> bool:
    return len(word) > 2 and (word.islower() or is_first) and word.lower() not in _LITTLE
