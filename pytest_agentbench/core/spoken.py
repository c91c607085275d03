"""Whether a text says something, however it spells letters, spaces, numbers and dates."""

import contextlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, time
from functools import cached_property, lru_cache
from itertools import pairwise

from pytest_agentbench.core.json_values import to_json

_QUOTES = str.maketrans({"‘": "'", "’": "'", "ʼ": "'", "“": '"', "”": '"', "«": '"', "»": '"', "‐": "-", "‑": "-"})
_MARKUP = re.compile(r"[*`]+|(?<!\w)_+|(?<!_)_++(?!\w)")
_SPACES = re.compile(r"\s+")
_SPACED_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?:[ ']\d{3})+(?!\d)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(?::\d{2})?(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})?")
_TIME = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")
_FIGURE_BEFORE, _FIGURE_BEHIND = re.compile(r"\d[^\w\s]?\Z"), re.compile(r"[^\w\s]?\d")
_FEWEST, _MOST = 2, 999
_UNIT, _ENDING, _REACH = 3, 2, 80
"""Letters that a unit has at least and its ending at most, and characters behind a number in which it may stand."""
_LONGEST = 2_000
"""Characters from which a value is a text that is found as it stands."""
_SHRINKS = 8
"""How many times shorter than it was a text in plain form may be."""
_SHORT = 300
"""Characters up to which the plain form of a text is remembered."""
_CURRENCIES = "usd|eur|gbp|chf|cad|aud|jpy"


def says(info: str, text: str) -> bool:
    """Whether `text` says `info`; both are brought to `plain` form first.

    A number is found only as a whole: neither inside a longer number nor before its decimals (54 is not said by
    154 nor by 54.04). An info that is nothing but a number is not found behind a letter either (54 in W54), save
    behind a currency code. A blank info is said by any text.
    """
    return _is_within(plain(info), plain(text))


def is_moment(text: str) -> bool:
    """Whether a text is a date or a time and nothing else, as a computer writes it: `2026-12-08`, `17:30`."""
    return any(one.fullmatch(text.strip()) for one in (_DATE, _TIME, _MOMENT))


def says_in_figures(info: str, text: str, locale: str = "en") -> bool:
    """Whether `text` says `info` once each has its numbers in figures: `at most 3 guests` is `at most three guests`.

    Numbers from 2 to 999 are read in the words of English or of `locale`, each as a whole, as `numbers_in_words` does:
    a last one that goes on behind a hyphen is another (`room two-and-a-half`).
    """
    for one in dict.fromkeys(["en", locale]):
        wanted = _in_figures(info, one)
        if re.search(r"\d", wanted) and _is_within(wanted, _in_figures(text, one), behind=r"(?!-\w)"):
            return True
    return False


def _is_within(wanted: str, said: str, *, behind: str = "") -> bool:
    """Whether a text in plain form holds another, whose numbers are whole; `behind` is what follows a last one."""
    pattern = re.escape(wanted)
    if wanted[:1].isdigit():
        pattern = r"(?<!\d)(?<!\d\.)" + pattern
    if wanted[-1:].isdigit():
        pattern += r"(?!\d)(?!\.\d)" + behind
    if _NUMBER.fullmatch(wanted):
        pattern = rf"(?:(?<![a-z])|(?<=\b(?:{_CURRENCIES})))" + pattern
    return re.search(pattern, said) is not None


def plain(text: str) -> str:
    """Bring `text` to the form in which texts are compared (`_brought_to_plain`); short ones come again and again."""
    return _short_plain(text) if len(text) <= _SHORT else _brought_to_plain(text)


@lru_cache(maxsize=2048)
def _short_plain(text: str) -> str:
    return _brought_to_plain(text)


def _brought_to_plain(text: str) -> str:
    """Bring `text` to lower case, without accents, markup and repeated spaces, quotes straight, numbers canonical.

    Numbers lose thousands separators and trailing zeros: `1,628.00`, `1 628,00` and `1.628,00` become `1628`;
    `54,04` becomes `54.04`; `1,628` is read as a thousand and more. Numbers in different lines are different numbers.
    """
    letters = unicodedata.normalize("NFKD", text.translate(_QUOTES))
    if not letters.isascii():
        letters = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in letters)
    letters = "".join(char for char in letters if not unicodedata.combining(char)).translate(_QUOTES)
    lines = _MARKUP.sub("", letters.casefold()).splitlines()
    joined = (_SPACED_NUMBER.sub(lambda found: re.sub(r"[ ']", "", found[0]), _SPACES.sub(" ", one)) for one in lines)
    return _NUMBER.sub(lambda found: _number(found[0]), _SPACES.sub(" ", "\n".join(joined)).strip())


def _number(token: str) -> str:
    """Spell one number canonically: no thousands separators, `.` before the decimals, no trailing zeros."""
    whole, mark, decimals = _split(token)
    if not mark:
        return whole
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def _split(token: str) -> tuple[str, str, str]:
    """Split a token into whole part, decimal mark (or nothing) and decimals; what is no number stays whole."""
    marks = [char for char in token if char in ".,"]
    if not marks:
        return token, "", ""
    last = marks[-1]
    groups = re.split("[.,]", token)
    if len(set(marks)) == 2:
        if marks.count(last) > 1:
            return token, "", ""
        return "".join(groups[:-1]), last, groups[-1]
    thousands = 1 <= len(groups[0]) <= 3 and groups[0][0] != "0" and all(len(group) == 3 for group in groups[1:])
    if thousands and (last == "," or len(marks) > 1):
        return "".join(groups), "", ""
    if len(marks) > 1:
        return token, "", ""
    return groups[0], last, groups[1]


def states(value: object, text: str, locale: str = "en") -> bool:
    """Whether `text` states a known value: in any spelling that code can make of it in English or in `locale`.

    Ids and words are found as they are, between other words; numbers in figures or words; dates and times in the ways
    of the locale. A yes or no, or nothing, is stated by no text.
    """
    if isinstance(value, str) and (moment := _MOMENT.fullmatch(value)):
        return states(moment[1], text, locale) and states(moment[2], text, locale)
    found = to_json(value)
    if isinstance(found, bool) or not isinstance(found, str | int | float) or not str(found).strip():
        return False
    return _states(found, text, locale)


@lru_cache(maxsize=1024, typed=True)
def _states(found: str | int | float, text: str, locale: str) -> bool:
    """Whether a text states a value in its plain form; of each message the same is asked several times."""
    said = _plain(text)
    if isinstance(found, str) and len(found) > _LONGEST:  # a text, not a value: it is compiled to no pattern
        return len(found) <= _SHRINKS * len(said) and plain(found) in said
    if any(_stands_in(one, said) for one in _as_written(found)):
        return True
    if not isinstance(found, str):
        locales = dict.fromkeys(["en", locale])
        if isinstance(found, float) and not found.is_integer():
            return any(_stands_in(one, said) for one in _decimal_in_words(found, *locales))
        return any(found in numbers_in_words(said, one) for one in locales)
    return any(_stands_in(one, said) for one in _in_other_ways(found, locale))


@lru_cache(maxsize=4096)
def _as_written(value: str | float) -> tuple[str, ...]:
    texts = (str(value), re.sub(r"[_-]+", " ", value)) if isinstance(value, str) else (str(value),)
    return tuple(dict.fromkeys(filter(None, map(plain, texts))))


@lru_cache(maxsize=4096)
def _in_other_ways(value: str, locale: str) -> tuple[str, ...]:
    """Give the spellings of a date and of a time."""
    ways: Iterable[str] = ()
    if _DATE.fullmatch(value):
        ways = (way for one in dict.fromkeys(["en", locale]) for way in _date_ways(value, one))
    elif _TIME.fullmatch(value):
        ways = _time_ways(time.fromisoformat(value))
    return tuple(dict.fromkeys(filter(None, map(plain, ways))))


@lru_cache(maxsize=4096)
def _decimal_in_words(value: float, *locales: str) -> tuple[str, ...]:
    """Give a small number with decimals in the words of the languages that can spell it."""
    from num2words import num2words  # noqa: PLC0415 - most conversations spell nothing

    ways = []
    for locale in locales if _FEWEST <= value <= _MOST else ():
        with contextlib.suppress(Exception):  # no such language there, or one that cannot spell this number
            ways.append(plain(str(num2words(value, lang=locale.replace("-", "_")))))
    return tuple(filter(None, ways))


def numbers_in_words(text: str, locale: str = "en") -> frozenset[int]:
    """Give the whole numbers from 2 to 999 that a text spells in the words of a language; one is as often a pronoun.

    The longest spelling counts, and only as a whole: neither twenty nor one is said by `twenty-one`, nor two hundred by
    `two hundred thousand` or by two numbers in a row. Of a language that num2words does not know nothing is found.
    """
    return frozenset(number for _, _, number in _spelled(text, locale) if number >= _FEWEST)


def counts(value: object, unit: str, text: str, locale: str = "en") -> bool:
    """Whether `text` spells a whole number from 1 on in words, with a word of its unit as one of the next two.

    A unit is what counts one thing or several of it: `month` and `months` are the same.
    """
    names = [one for one in _plain(re.sub(r"[\W_]+", " ", unit)).split(" ") if len(one) >= _UNIT]
    return any(
        number == value and not isinstance(value, bool) and any(_is_unit(word, one) for word in behind for one in names)
        for language in dict.fromkeys(["en", locale])
        for _, end, number in _spelled(text, language)
        if number >= 1
        for behind in [_words_behind(text, end)]
    )


def _is_unit(word: str, unit: str) -> bool:
    """Whether two words name one thing and several of it, as far as one begins with the other."""
    shorter, longer = sorted((word, unit), key=len)
    return len(shorter) >= _UNIT and longer.startswith(shorter) and len(longer) - len(shorter) <= _ENDING


def _words_behind(text: str, end: int) -> list[str]:
    """Give the two words behind a place of the plain form that no mark sets apart."""
    return re.split(r"[^\w ]", _plain(text).replace("-", " ")[end : end + _REACH], maxsplit=1)[0].split()[:2]


def _in_figures(text: str, locale: str) -> str:
    """Give the plain form of a text with figures for the numbers in words.

    One that stands at a figure, and each of two with a decimal mark in words between them, is a part and stays.
    """
    said, spelled = _plain(text), _spelled(text, locale)
    point = _number_words(locale.replace("-", "_")).point
    decimal = {one for pair in pairwise(spelled) if said[pair[0][1] : pair[1][0]].strip() == point for one in pair}
    parts, at = [], 0
    for start, end, number in spelled:
        is_part = (start, end, number) in decimal or _FIGURE_BEFORE.search(said[max(start - 2, 0) : start])
        if number >= _FEWEST and not is_part and not _FIGURE_BEHIND.match(said, end):
            parts += [said[at:start], str(number)]
            at = end
    return "".join([*parts, said[at:]])


@lru_cache(maxsize=256)
def _spelled(text: str, locale: str) -> tuple[tuple[int, int, int], ...]:
    """Give the numbers that a text spells in words, each with where it begins and ends in the plain form."""
    words = _number_words(locale.replace("-", "_"))
    said = _plain(text).replace("-", " ")
    found: list[tuple[int, int, int]] = []
    at = 0
    while words.spellings and at < len(said):
        fitting = words.sizes if said[at] in words.initials else ()
        ends = (at + size for size in fitting if at + size <= len(said))
        end = next((one for one in ends if said[at:one] in words.spellings and words.is_apart(said, at, one)), 0)
        if end:
            found.append((at, end, words.spellings[said[at:end]]))
        at = end or at + 1
    joined = {one for pair in pairwise(found) if not said[pair[0][1] : pair[1][0]].strip() for one in pair}
    return tuple(one for one in found if one not in joined and not words.is_scaled(said, *one[:2]))


@dataclass(frozen=True)
class _NumberWords:
    """How a language spells numbers up to 999, in plain form without hyphens, a thousand, and the decimal mark."""

    spellings: dict[str, int]
    thousand: str = ""
    point: str = ""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(sorted({len(one) for one in self.spellings}, reverse=True))

    @cached_property
    def initials(self) -> frozenset[str]:
        return frozenset(one[0] for one in self.spellings)

    @cached_property
    def _letters(self) -> frozenset[str]:
        return frozenset("".join([*self.spellings, self.thousand]))

    def is_apart(self, said: str, start: int, end: int) -> bool:
        """Whether no word goes on before or behind; scripts without spaces go on with letters of other words."""
        beside = ((said[start - 1 : start], said[start]), (said[end : end + 1], said[end - 1]))
        return not any(
            one.isalnum() and (one in self._letters or unicodedata.category(edge) != "Lo") for one, edge in beside
        )

    def is_scaled(self, said: str, start: int, end: int) -> bool:
        """Whether it is a part of so many thousand."""
        return said[end:].lstrip().startswith(self.thousand) or said[:start].rstrip().endswith(self.thousand)


@lru_cache(maxsize=16)
def _number_words(locale: str) -> _NumberWords:
    from num2words import num2words  # noqa: PLC0415 - most conversations spell nothing

    try:
        spelled = [plain(str(num2words(n, lang=locale))).replace("-", " ") for n in (*range(_MOST + 1), 1000)]
    except Exception:  # noqa: BLE001 - no such language there, or one that cannot spell a number
        return _NumberWords({})
    decimal = next(iter(_decimal_in_words(2.5, locale)), "")
    point = decimal.removeprefix(spelled[2]).removesuffix(spelled[5]).strip()
    thousand = spelled.pop().split(" ")[-1]
    return _NumberWords(
        {spelling: n for n, spelling in reversed(list(enumerate(spelled))) if spelling}, thousand, point
    )


def _date_ways(value: str, locale: str) -> Iterator[str]:
    from babel import Locale, UnknownLocaleError  # noqa: PLC0415 - as above
    from babel.dates import format_date, format_skeleton  # noqa: PLC0415 - as above

    try:
        day, known = date.fromisoformat(value), Locale.parse(locale.replace("-", "_"))
    except (UnknownLocaleError, ValueError):  # 31 February, or a language of one's own
        return
    for way in ("short", "medium", "long"):
        yield format_date(day, way, locale=known)
    for skeleton in ("yMd", "MMMd", "MMMMd"):
        yield format_skeleton(skeleton, day, locale=known)
    yield f"{day.day} {format_date(day, 'MMMM', locale=known)}"
    yield from (f"{day.day:02}{sep}{day.month:02}{sep}{day.year}" for sep in "./-")


def _time_ways(moment: time) -> Iterator[str]:
    hour = moment.hour % 12 or 12
    half = "am" if moment.hour < 12 else "pm"
    yield f"{moment.hour}:{moment.minute:02}"
    yield f"{moment.hour:02}h{moment.minute:02}"
    yield f"{hour}:{moment.minute:02} {half}"
    yield f"{hour}:{moment.minute:02}{half}"
    if not moment.minute:
        yield f"{hour} {half}"
        yield f"{hour}{half}"


@lru_cache(maxsize=256)
def _plain(text: str) -> str:
    return plain(text)


_BEFORE_NUMBER = re.compile(rf"(?:(?<![a-z0-9])|(?<=\b(?:{_CURRENCIES})))(?<!\d[.,/-])")
_BEFORE_WORD = re.compile(r"(?<![a-z0-9])")
_BEHIND_NUMBER = re.compile(r"(?![./-]?\d)")
_BEHIND_CODE = re.compile(r"(?![a-z0-9]|\.\d)")
_BEHIND_WORD = re.compile(r"(?![a-z0-9])")


def _stands_in(spelling: str, said: str) -> bool:
    """Whether a text holds a spelling as a whole; what is sought differs in every run, so it becomes no pattern."""
    before = behind = None
    if spelling[0].isdigit():
        before = _BEFORE_NUMBER
    elif spelling[0].isascii() and spelling[0].isalpha():
        before = _BEFORE_WORD
    if spelling[-1].isdigit():
        behind = _BEHIND_NUMBER if _NUMBER.fullmatch(spelling) else _BEHIND_CODE
    elif spelling[-1].isascii() and spelling[-1].isalpha():
        behind = _BEHIND_WORD
    at = said.find(spelling)
    while at >= 0:
        if (not before or before.match(said, at)) and (not behind or behind.match(said, at + len(spelling))):
            return True
        at = said.find(spelling, at + 1)
    return False
