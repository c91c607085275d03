"""The words that tell a rule from a description, for each language that documents are read in.

They are data (`lexicon/*.toml`): a language is added by a file of the same keys.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

LANGUAGES = ("en", "fr")
"""The languages with a lexicon; a tie is the first one's."""

_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    """One language: word lists, and one pattern for each kind of cue."""

    name: str
    stopwords: frozenset[str]
    parties: frozenset[str]
    continuations: re.Pattern[str]
    anaphors: re.Pattern[str]
    descriptive: re.Pattern[str]
    joints: re.Pattern[str]
    subjects: re.Pattern[str]
    unfinished: re.Pattern[str]
    leaning: re.Pattern[str]
    leaning_starts: re.Pattern[str]
    forbids: re.Pattern[str]
    addressed: re.Pattern[str]
    courtesies: re.Pattern[str]
    opening: re.Pattern[str]
    frequency: re.Pattern[str]
    instructs: re.Pattern[str]
    narrates: frozenset[str]
    imperatives: frozenset[str]
    objects: frozenset[str]
    not_imperative: frozenset[str]
    ignored_headings: re.Pattern[str]
    descriptive_headings: re.Pattern[str]
    illustrations: re.Pattern[str]
    table_headers: frozenset[str]
    measure: re.Pattern[str]
    patterns: dict[str, re.Pattern[str]]
    categories: dict[str, re.Pattern[str]]
    occasions: dict[str, re.Pattern[str]]

    def has(self, cue: str, text: str) -> bool:
        """Whether `text` holds a cue of a kind."""
        return self.patterns[cue].search(text) is not None

    def count(self, cue: str, text: str) -> int:
        """Count the cues of a kind in `text`."""
        return sum(1 for _ in self.patterns[cue].finditer(text))


@cache
def lexicon(name: str) -> Lexicon:
    """Load the lexicon of a language of `LANGUAGES`."""
    data = tomllib.loads((files(__package__) / "lexicon" / f"{name}.toml").read_text(encoding="utf-8"))
    lists = {key: _words(data[key]) for key in ("stopwords", "parties", "imperatives", "objects", "not_imperative")}
    return Lexicon(
        name=name,
        **lists,
        table_headers=_words(data["table_headers"]),
        continuations=_starts(data["continuations"]),
        anaphors=_starts(data["anaphors"]),
        descriptive=_any(sorted(_words(data["descriptive"]))),
        joints=re.compile("|".join(data["joints"]), re.IGNORECASE),
        subjects=_starts(data["subjects"]),
        unfinished=_starts(data["unfinished"]),
        leaning=_any(data["leaning"]),
        leaning_starts=_starts(data["leaning_starts"]),
        forbids=_starts(data["forbids"]),
        addressed=_any(data["addressed"]),
        courtesies=_starts(data["courtesies"]),
        opening=re.compile(
            rf"^(?:{'|'.join(sorted(_words(data['openings']), reverse=True))})(?:(?<=['’])|(?!\w))[^,:]*[,:]\s*",
            re.IGNORECASE,
        ),
        frequency=_starts(data["frequency"]),
        instructs=_starts(data["instructs"]),
        narrates=_words(data["narrates"]),
        ignored_headings=re.compile(rf"\W*(?:{'|'.join(data['ignored_headings'])})\W*$", re.IGNORECASE),
        descriptive_headings=re.compile(rf"\W*(?:{'|'.join(data['descriptive_headings'])})\W*$", re.IGNORECASE),
        illustrations=re.compile(rf"\W*(?:{'|'.join(data['illustrations'])})(?!\w)", re.IGNORECASE),
        measure=re.compile(
            rf"\b\d+(?:[.,]\d+)?\s*(?:%|€|\$|(?:{'|'.join(data['units'])})\b)|[$€£]\s?\d"
            rf"|\b(?:{data['numbers']})[ -](?:{'|'.join(data['units'])})\b",
            re.IGNORECASE,
        ),
        patterns={key: _any(value) for key, value in data["patterns"].items()},
        categories={key: _any(value) for key, value in data["categories"].items()},
        occasions={key: _any(value) for key, value in data["occasions"].items()},
    )


def language_of(text: str, default: str = LANGUAGES[0]) -> str:
    """Give the language whose small words stand most often in `text`; `default` where none stands out."""
    words = [word.lower() for word in _WORD.findall(text)]
    words = [part for word in words for part in re.split(r"['’]", word)]
    counts = {name: sum(word in lexicon(name).stopwords for word in words) for name in LANGUAGES}
    best = max(counts.values())
    return default if counts[default] == best else next(name for name in LANGUAGES if counts[name] == best)


def content_words(text: str, lexicons: tuple[Lexicon, ...] | None = None) -> list[str]:
    """Give the words that carry meaning, lowered and in order: no small words, no names of the parties, no numbers."""
    known = lexicons or tuple(lexicon(name) for name in LANGUAGES)
    found = []
    for word in _WORD.findall(text):
        plain = re.split(r"['’]", word.lower())[-1] if "'" in word or "’" in word else word.lower()
        if len(plain) < 2 or any(plain in one.stopwords or plain in one.parties for one in known):
            continue
        found.append(plain)
    return found


def stem(word: str) -> str:
    """Cut the endings that English and French put on a word, so that its forms compare equal."""
    for ending in ("ements", "ement", "ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ez", "ées", "ée",
                   "és", "ed", "es", "é", "s", "e", "y"):  # fmt: skip
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _starts(patterns: list[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE)


def _any(patterns: list[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE)
