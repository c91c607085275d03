"""Whether a value says how, when or how much, or which thing is meant: by names, shapes and descriptions."""

import re
from collections.abc import Mapping

from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation._reading.phrases.language import words

_MOMENT = re.compile(r"\d{4}-\d{2}(?:-\d{2})?(?:[T ].*)?|\d{1,2}:\d{2}(?::\d{2})?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_WORD = re.compile(r"[^\W_]+")
_PROSE = 8
"""Words from which a text is no name."""
_IDENTIFYING = words(
    "id ids identifier number no nr num code key ref reference index lat latitude lon lng long longitude "
    "numero identifiant cle uid uuid"
)
"""Last words of names of arguments whose numbers say which thing is meant."""
_MEASURES = words(
    "amount price cost fee total sum count quantity qty limit offset size depth length width height weight duration "
    "budget percent percentage rate ratio discount temperature age year level priority rating score page "
    "montant prix cout somme nombre quantite limite taille duree poids age annee niveau priorite"
)
_COUNTED = re.compile(
    r"(?:the |le )?(?:number|count|quantity|nombre|quantite) (?:of|de|d) \w*s\b|how (?:many|much)\b|combien\b"
)
_EMPTY = words("id on at by in of to for from with new old is the a an de du la le")
"""Words of names that stand in any sentence."""
_LEAST = 4
"""Letters from which the beginning of a word tells it."""


def is_free(name: str, value: JsonValue, schema: Mapping[str, JsonValue]) -> bool:
    """Whether a value says how, when or how much, and not which thing: no identifier, name or place.

    That are dates and times, yes and no, choices that the schema lists, measures, and long texts.
    """
    last = humanize(name.removesuffix(".*").rsplit(".", 1)[-1]).split()[-1:]
    if isinstance(value, bool) or schema.get("enum") or schema.get("format") in ("date", "date-time", "time"):
        return True
    if isinstance(value, str):
        return _MOMENT.fullmatch(value.strip()) is not None or "\n" in value or len(value.split()) >= _PROSE
    if not isinstance(value, int | float) or set(last) & _IDENTIFYING:
        return False
    if isinstance(value, float) and not value.is_integer():
        return True
    described = schema.get("description")
    is_counted = isinstance(described, str) and _COUNTED.match(plain(described)) is not None
    return is_counted or bool(set(last) & _MEASURES) or any(word.endswith("s") and len(word) > 3 for word in last)
