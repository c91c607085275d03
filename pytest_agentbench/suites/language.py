"""The few plain phrases that a scripted user has in each language, one data file a language."""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice, product
from pathlib import Path
from string import Formatter
from typing import Annotated

from pydantic import Field, ValidationError, ValidationInfo, field_validator

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.names import IDENTIFIERS, listing, suggestion, words_of
from pytest_agentbench.core.spoken import plain

FOLDER = Path(__file__).parent / "languages"

_WORD = re.compile(r"[^\W_]+")
_INFLECTED, _COMPOUND = 4, 5
"""Letters from which a word may have an ending, and from which it may stand inside a longer one (`Bestellnummer`)."""
_LONGEST = 60
"""Characters up to which a text is a name; τ² writes prose where names of unknown values stand."""
_WAYS = 500
"""Ways to say a name that are tried: of each word its synonyms, so that a long name would have millions."""
_BETWEEN = 3
"""Other words that may stand between the words of a name: *the number of your order*."""

_Phrases = Annotated[tuple[str, ...], Field(min_length=1, max_length=12)]


class LanguageError(ValueError):
    """A language without a file, or a file that does not hold what a language needs."""


class Language(Model):
    """What a scripted user says of its own accord, and the whole lines that are a yes or a no.

    `no` holds `{value}`, `fact` holds `{label}` and `{value}`. `locale` is what dates and numbers are spelled by.
    `labels` maps words of names of values, in lower case, to other words by which an agent asks for them.
    """

    locale: str
    yes: str
    no: str
    decline: str
    unknown: str
    fact: str = "{label}: {value}."
    yes_lines: _Phrases
    no_lines: _Phrases
    labels: dict[str, tuple[str, ...]] = {}

    @field_validator("no", "fact")
    @classmethod
    def _placeholders(cls, text: str, info: ValidationInfo) -> str:
        allowed = {"value"} if info.field_name == "no" else {"label", "value"}
        try:
            found = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
        except ValueError as error:
            raise ValueError(f"{text!r}: {error}") from None
        if found - allowed:
            places = " and ".join(f"{{{name}}}" for name in sorted(allowed))
            raise ValueError(f"{text!r} holds {{{min(found - allowed)}}}; there is only {places}")
        return text

    def answer(self, line: str) -> bool | None:
        """Whether a whole line is a yes or a no, case and punctuation aside; None where it is neither."""
        words = _bare(line)
        if words in map(_bare, self.yes_lines):
            return True
        return False if words in map(_bare, self.no_lines) else None

    def names(self, names: Iterable[str], text: str, *, loosely: bool = False) -> bool:
        """Whether `text` holds all words of one of `names`, close together, or their `labels`.

        `loosely` leaves out a last word such as `id`: *which order?* names `order_id`.
        """
        said = _tokens(text)
        return any(
            _is_close(way, said) or (loosely and way[-1:] and way[-1] in IDENTIFIERS and _is_close(way[:-1], said))
            for name in names
            for way in _ways(name, self.labels)
        )


def _ways(name: str, synonyms: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Give every way to say a name: its own words, then with synonyms of the whole, or of each word."""
    words = words_of(name) if len(name) <= _LONGEST else ()
    yield words
    yield from (words_of(other) for other in synonyms.get(" ".join(words), ()))
    if len(words) > 1:
        for choice in islice(product(*((word, *synonyms.get(word, ())) for word in words)), _WAYS):
            yield tuple(part for one in choice for part in words_of(one))


@lru_cache(maxsize=256)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(plain(text)))


def _is_close(words: Sequence[str], said: Sequence[str]) -> bool:
    """Whether all words are said within a few others, in any order."""
    places = [[at for at, token in enumerate(said) if _is_form(token, word)] for word in words]
    reach = len(words) - 1 + (_BETWEEN if len(words) > 1 else 0)
    return bool(places and all(places)) and any(
        all(any(abs(at - first) <= reach for at in others) for others in places[1:]) for first in places[0]
    )


def _is_form(token: str, word: str) -> bool:
    if token == word or not word.isascii():
        return word in token
    return (len(word) >= _INFLECTED and token.startswith(word)) or (len(word) >= _COMPOUND and word in token)


@cache
def shipped_languages() -> tuple[str, ...]:
    """Name the languages that have a file of their own here."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))


def language_of(name: str, root: Path = FOLDER) -> Language:
    """Read a language that ships, or a `.toml` file seen from `root`; raise `LanguageError` where there is none."""
    if name.endswith(".toml"):
        return _read(root / name)
    known = shipped_languages()
    if name not in known:
        hint = suggestion(name, known) or "write a .toml file of its own and give its path"
        raise LanguageError(f"the language {name!r} has no file; there are: {listing(known)}; {hint}")
    return _shipped(name)


@cache
def _shipped(name: str) -> Language:
    return _read(FOLDER / f"{name}.toml")


def _read(file: Path) -> Language:
    try:
        return _parsed(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise LanguageError(f"the language file {file.name!r} is wrong at {where!r}: {first['msg']}") from None
        raise LanguageError(f"the language file {str(file)!r} cannot be read: {error}") from None


@lru_cache(maxsize=64)
def _parsed(text: str) -> Language:
    return Language.model_validate(tomllib.loads(text))


def _bare(text: str) -> str:
    """Give a text in lower case, without punctuation and spaces, which not every script sets."""
    return "".join(char for char in text if unicodedata.category(char)[0] not in "PSZC").casefold()


def language_name(code: str) -> str:
    """Give the name of a language in English, its code where nobody knows it."""
    from babel import Locale, UnknownLocaleError  # noqa: PLC0415 - only models are told

    try:
        return Locale.parse(code.replace("-", "_")).get_display_name("en") or code
    except (UnknownLocaleError, ValueError):
        return code
