"""What a message asks for: which information, where, for which day, and in which language."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from weather.geography import department, fold


class Wish(StrEnum):
    """What can be asked for."""

    FORECAST = "forecast"
    NOW = "now"
    RAIN = "rain"
    ALERTS = "alerts"
    BULLETIN = "bulletin"
    MEANING = "meaning"
    PLACE = "place"


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Where: a place's name or postcode, coordinates, or the number of a department."""

    name: str = ""
    coordinates: tuple[float, float] | None = None
    department: str = ""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One thing that is asked for; `wish` or `spot` is None where only the talk so far tells it. `day` 0 is today.

    `lang` is the language that names are wanted in, "" for that of the talk.
    """

    wish: Wish | None
    spot: Spot | None
    day: int | None = None
    lang: str = ""


_CUES = {
    Wish.BULLETIN: r"\bbulletins?\b",
    Wish.MEANING: r"\b(?:mean|means|meaning|signif\w+|veu(?:t|lent) dire|dictionary|dictionnaire|explain|expliqu\w+)\b",
    Wish.ALERTS: r"\b(?:alerts?|alertes?|warnings?|vigilances?)\b",
    Wish.RAIN: r"\b(?:rain\w*|umbrella|pluie|pleu\w+|pleut|parapluie|averse\w*|shower\w*)\b",
    Wish.NOW: r"\b(?:now|current(?:ly)?|at the moment|conditions?|maintenant|actuel\w*|en ce moment|fait il|il fait)\b",
    Wish.FORECAST: r"\b(?:forecasts?|previsions?|weather|meteo|temps|temperatures?|tomorrow|demain|fera)\b",
    Wish.PLACE: (
        r"\b(?:coordinates?|coordonnees|insee|geocode|situe\w*|where is|ou (?:est|se trouve)"
        r"|(?:find|locate|look up|trouve\w*|cherche\w*) (?:the |that |this |a |la |le |cette |ce )?"
        r"(?:place|commune|town|city|ville|lieu))\b"
    ),
}
"""What tells a wish, the most telling first."""

_DAYS = {
    2: r"\b(?:day after tomorrow|apres demain)\b",
    1: r"\b(?:tomorrow|demain)\b",
    0: r"\b(?:today|tonight|this (?:morning|afternoon|evening)|aujourd'hui|ce (?:matin|soir)|cet apres midi)\b",
}
_IN_DAYS = re.compile(r"\b(?:in|dans) (\d{1,2}) (?:days?|jours?)\b")
_FRENCH = re.compile(
    r"\b(?:le|la|les|un|une|des|du|de|et|est|je|vous|quel\w*|bonjour|merci|pour|dans|a|au|il|y|svp|oui|fait|fera)\b"
)
_ENGLISH = re.compile(
    r"\b(?:the|an|is|are|i|you|what|which|how|hello|hi|thanks?|please|for|in|and|of|do|will|there|it|any|need|yes|give)\b"
)

_CAPITAL = "[A-ZÀ-ÖØ-Þ]"
_NAME = rf"{_CAPITAL}\w*(?:['’-]\w+)*(?:[ -](?:(?:le|la|les|de|du|des|sur|en|sous)[ -])*{_CAPITAL}[\w'’-]+)*"
_PLACE = re.compile(
    r"\b(?:[Pp]lace|[Cc]ommune|[Tt]own|[Cc]ity|[Vv]ille|[Ll]ieu|[Ii]n|[Aa]t|[Ff]or|[Nn]ear|[Aa]round|[Oo]f|[Ii]s|[Aa]bout|[ÀàAa]|[Aa]ux?|[Pp]our|[Ss]ur|[Vv]ers|[Dd]e|[Dd]ans)"
    r"\s+(?:the |le |la |les |l['’])?(" + _NAME + r"|\d{5}\b)"
    r"|\b[DdLl]['’](" + _NAME + r")"
)
_MORE = re.compile(r"\s*(?:,|and|et|&|puis|then)\s+(?:(?:in|for|à|a|pour|au)\s+)?(" + _NAME + r"|\d{5}\b)")
_PAIR = re.compile(r"(-?\d{1,3}\.\d+)\s*[,;/]\s*(-?\d{1,3}\.\d+)")
_NUMBER = r"(-?\d{1,3}(?:\.\d+)?)"
_NAMED_PAIR = re.compile(
    rf"lat(?:itude)?[^\w-]{{0,3}}{_NUMBER}.{{0,12}}?lon(?:gitude)?[^\w-]{{0,3}}{_NUMBER}", re.IGNORECASE
)
_DEPARTMENT = re.compile(
    r"\b(?:department|departement|dept|dep|dpt)s?\.?\s*(?:no\.?|n°|number|numero)?\s*"
    r"(?:(?:of|de|du|des|d')\s*(?:la |l')?)?(\d{2,3}|2[ab]|[a-z' ]+)"
)
_LANGUAGES = {
    "en": r"\b(?:in english|en anglais)\b",
    "fr": r"\b(?:in french|en francais)\b",
    "de": r"\b(?:in german|en allemand)\b",
    "es": r"\b(?:in spanish|en espagnol)\b",
    "it": r"\b(?:in italian|en italien)\b",
}
"""Languages that names can be asked for in."""
_DETAIL = re.compile(
    r"^(?:and |et )?(?:please )?(?:tell me|dites moi|donnez moi|me dire) (?:the |its |le |la |l'|son |sa )?(?:altitude"
    r"|name|nom|title|titre|(?:iana )?time ?zone|fuseau|insee|weather in words|where the wind|wind|vent|department)\b"
)
"""Asks for a part of the answer before, which tells all there is."""
_STARTS = frozenset({
    "hello", "hi", "bonjour", "salut", "merci", "thanks", "thank", "please", "what", "will", "is", "and", "et", "how",
    "which", "quel", "quelle", "quelles", "quels", "je", "i", "do", "does", "are", "can", "give", "tell", "donnez",
    "insee", "france", "gps", "english", "french", "german", "spanish", "italian",
    "yes", "oui", "no", "non", "il", "y", "vigilance", "meteo", "monday", "tuesday",
    "wednesday", "thursday", "friday", "saturday", "sunday",
})  # fmt: skip
_OPENING = re.compile(
    r"(?:[Nn]ow|[Nn]ext|[Tt]hen|[Ee]nsuite|[Mm]aintenant)\b,? (?=please|could|can|would|give|tell|find|pou\w+|s'il)"
)
"""Words that only say that another request comes: this `now` is no time."""
_CLAUSE = re.compile(
    r"[.?!;]+(?=\s|$)|,?\s+(?:and then|then|puis|ensuite|and also|et aussi|ainsi que)\s+|,\s+(?=and |et )"
)


def in_french(text: str) -> bool | None:
    """Whether a message is French, None where nothing tells."""
    folded = fold(text)
    french, english = len(_FRENCH.findall(folded)), len(_ENGLISH.findall(folded))
    return None if french == english else french > english


def requests(text: str, *, asked: bool = False) -> list[Request]:
    """Give what a message asks for, in order; with `asked` a bare name is the answer to a question for a place."""
    found: list[Request] = []
    for clause in _clauses(text):
        if found and _DETAIL.match(fold(clause)):
            continue
        wishes = list(_wishes(clause))
        spots = list(_spots(clause, warned=bool({Wish.ALERTS, Wish.BULLETIN} & set(wishes))))
        if not spots and asked and (bare := _bare(clause)):
            spots = [bare]
        day = _day(clause)
        if not wishes and not spots and day is None:
            continue
        lang = next((code for code, cue in _LANGUAGES.items() if re.search(cue, fold(clause))), "")
        found += [
            Request(wish=wish, spot=spot, day=day, lang=lang) for spot in spots or [None] for wish in wishes or [None]
        ]
    return found


def _clauses(text: str) -> Iterator[str]:
    start = opening.end() if (opening := _OPENING.match(text)) else 0
    for match in _CLAUSE.finditer(text):
        yield text[start : match.start()]
        start = match.end()
    yield text[start:]


def _wishes(clause: str) -> Iterator[Wish]:
    folded = fold(clause)
    hits = [wish for wish, cue in _CUES.items() if re.search(cue, folded)]
    vague = {Wish.FORECAST} if len(hits) > 1 and not re.search(r"\b(?:forecasts?|previsions?)\b", folded) else set()
    if Wish.BULLETIN in hits:
        vague.add(Wish.ALERTS)  # a bulletin is one of warnings
    if Wish.MEANING in hits:
        vague |= {Wish.ALERTS, Wish.FORECAST}
    if Wish.RAIN in hits and re.search(r"\b(?:tomorrow|demain)\b", folded):
        vague.add(Wish.RAIN)  # the rain of the next hours tells nothing of tomorrow
        vague.discard(Wish.FORECAST)
    yield from (wish for wish in hits if wish not in vague)


def _spots(clause: str, *, warned: bool) -> Iterator[Spot]:
    """Give the places of a clause; where warnings are asked for, the name of a department is one."""
    pair = _NAMED_PAIR.search(clause) or _PAIR.search(clause)
    if pair:
        yield Spot(coordinates=(float(pair[1]), float(pair[2])))
        return
    named = _DEPARTMENT.search(fold(clause))
    if named:
        numbers = re.findall(r"\b(\d{2,3}|2[ab])\b", fold(clause)[named.start() :]) or [named[1]]
        known = [number for text in numbers if (number := department(text.upper() if text[:1] == "2" else text))]
        if known:
            yield from (Spot(department=number) for number in known)
            return
    for name in _names(clause):
        number = department(name) if warned else None
        yield Spot(department=number) if number else Spot(name=name)


def _names(clause: str) -> Iterator[str]:
    position = 0
    while match := _PLACE.search(clause, position):
        name = match[1] or match[2]
        position = match.end()
        if fold(name) in _STARTS:
            continue
        yield name
        while more := _MORE.match(clause, position):
            yield more[1]
            position = more.end()


def _bare(clause: str) -> Spot | None:
    """Give the place that an answer names without further words."""
    match = re.search(rf"\b({_NAME}|\d{{5}})\b", clause)
    name = match[1] if match and fold(match[1]) not in _STARTS else clause.strip()
    if not name or len(name.split()) > 4 or fold(name.split()[0]) in _STARTS:
        return None
    return Spot(name=name)


def _day(clause: str) -> int | None:
    folded = fold(clause)
    counted = _IN_DAYS.search(folded)
    if counted:
        return int(counted[1])
    return next((day for day, cue in _DAYS.items() if re.search(cue, folded)), None)
