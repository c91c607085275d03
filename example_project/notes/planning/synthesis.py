"""From the parts of a draft to one answer that cites its notes and lines."""

import re
from dataclasses import replace

from notes.answering import Source
from notes.drafts import Draft, Part
from notes.question import Kind
from notes.text import fold, key_words, stem
from notes.voice import Voice

_QUANTITY = re.compile(
    r"(?<![\w.,])(\d{1,3}(?:[ \u00a0\u202f,]\d{3})+(?:[.,]\d+)?|"
    r"\d+(?:[.,]\d+)?)[ \u00a0\u202f]?(%|°[CF]?|€|\$|£|[a-zA-Zµéè]+)?"
)
_SECONDS = {
    "ms": 0.001, "s": 1, "sec": 1, "second": 1, "seconde": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600,
    "heure": 3600, "day": 86400, "jour": 86400, "week": 604800, "semaine": 604800, "month": 2629800, "mois": 2629800,
    "year": 31557600, "an": 31557600, "annee": 31557600,
}  # fmt: skip
_METRES = {"mm": 0.001, "cm": 0.01, "m": 1.0, "km": 1000.0}
_GRAMS = {"mg": 0.001, "g": 1.0, "kg": 1000.0}
_LITRES = {"ml": 0.001, "cl": 0.01, "l": 1.0, "litre": 1.0}


def word(draft: Draft) -> str:
    """Word a draft, sources behind each part; what was not found is said."""
    voice = Voice(french=draft.french)
    found = draft.found
    if not found:
        return voice.say("nothing", subject=_subject(draft.parts))
    lost = [part for part in draft.parts if not part.found]
    several = draft.kind in {Kind.COMPARE, Kind.SEVERAL} and len(draft.parts) > 1
    told = [_told(part, draft) for part in found]
    if draft.kind is Kind.COMPARE and not lost:
        told += _compared(draft, voice)
    if several:
        told += [voice.say("nothing_part", subject=_subject((part,))) for part in lost]
    return " ".join(told)


def cite(source: Source, *, lines: bool) -> str:
    """Word a source, with its lines or as the note alone."""
    return str(source if lines else replace(source, first=0, last=0))


def _told(part: Part, draft: Draft) -> str:
    cited = dict.fromkeys(cite(source, lines=draft.cite_lines) for source in part.cited)
    told = " ".join([part.said, *(one for one in cited if one not in part.said)])
    if part.answer is None or part.text or part.answer.anchored:
        return told
    names = [name for name in key_words(part.query.text) if stem(name) in part.answer.lacking]
    return f"{told} {Voice(french=draft.french).say('lacking', names=' '.join(names))}"


def _compared(draft: Draft, voice: Voice) -> list[str]:
    """Say which side has the higher figure, where each names one of the same kind."""
    if len(draft.parts) != 2:
        return []
    sides = [_quantities(part.answer.figures if part.answer else part.said) for part in draft.parts]
    pairs = [(a, b) for a in sides[0] for b in sides[1] if a[1] == b[1]]
    if not pairs:
        return []
    first, second = pairs[0]
    if first[0] == second[0]:
        return [voice.say("equal", more=first[2])]
    (_, _, more), (_, _, less) = sorted((first, second), key=lambda quantity: -quantity[0])
    part = draft.parts[0] if first[0] > second[0] else draft.parts[1]
    return [voice.say("more", label=part.label or _subject((part,)), more=more, less=less)]


def _quantities(text: str) -> list[tuple[float, str, str]]:
    """Give the figures of a text as (value in the unit's base, kind of unit, as written)."""
    found = []
    for number, unit in _QUANTITY.findall(text):
        plain = re.sub(r"[ \u00a0\u202f]|,(?=\d{3}\b)", "", number).replace(",", ".")
        name = fold(unit)
        one = name if name in {"ms", "s"} else name.removesuffix("s") if name != "mois" else name
        for kind, factors in (("time", _SECONDS), ("length", _METRES), ("weight", _GRAMS), ("volume", _LITRES)):
            if one in factors:
                found.append((float(plain) * factors[one], kind, f"{number} {unit}".strip()))
                break
        else:
            found.append((float(plain), one, f"{number} {unit}".strip()))
    return found


def _subject(parts: tuple[Part, ...]) -> str:
    names = dict.fromkeys(name for part in parts for name in key_words(part.query.text))
    return ", ".join(f"“{name}”" for name in list(names)[:6]) or "–"
