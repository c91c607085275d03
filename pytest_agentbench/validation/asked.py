"""Whether anybody asks for a value that only an earlier result holds.

`That order` hands on which order is meant. A date, an amount or a choice that stands beside it is nothing that a
reference means: an agent that is faithful to what it is told leaves it out, or asks.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from pytest_agentbench.core.names import readable
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.validation.known import of_user
from pytest_agentbench.validation.reachable import Wanted

_MOMENT = re.compile(r"\d{4}-\d{2}(?:-\d{2})?(?:[T ].*)?|\d{1,2}:\d{2}(?::\d{2})?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_WORD = re.compile(r"[^\W_]+")
_PROSE = 8
"""Words from which a text is no name."""


def _words(name: str) -> list[str]:
    """Give the words of a name."""
    return _WORD.findall(readable(name).lower())


def _set_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IDENTIFYING = _set_of(
    "id ids identifier number no nr num code key ref reference index lat latitude lon lng long longitude "
    "numero identifiant cle uid uuid"
)
"""Last words of names of arguments whose numbers say which thing is meant."""
_MEASURES = _set_of(
    "amount price cost fee total sum count quantity qty limit offset size depth length width height weight duration "
    "budget percent percentage rate ratio discount temperature age year level priority rating score page "
    "montant prix cout somme nombre quantite limite taille duree poids age annee niveau priorite"
)
_COUNTED = re.compile(
    r"(?:the |le )?(?:number|count|quantity|nombre|quantite) (?:of|de|d) \w*s\b|how (?:many|much)\b|combien\b"
)
_EMPTY = _set_of("id on at by in of to for from with new old is the a an de du la le")
"""Words of names that stand in any sentence."""
_LEAST = 4
"""Letters from which the beginning of a word tells it."""


def is_free(name: str, value: JsonValue, schema: Mapping[str, JsonValue]) -> bool:
    """Whether a value says how, when or how much, and not which thing: no identifier, name or place.

    That are dates and times, yes and no, choices that the schema lists, measures, and long texts.
    """
    last = _words(name.removesuffix(".*").rsplit(".", 1)[-1])[-1:]
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


def unasked(
    scenario: Scenario,
    toolset: Toolset,
    policies: Sequence[Policy],
    handed_on: Sequence[Wanted],
    given: Sequence[Wanted],
) -> tuple[list[Wanted], list[Wanted]]:
    """Give the values that neither user nor policy asks for: of optional arguments, and of required ones.

    `handed_on` are those that only earlier results hold, `given` those that are said. Identifiers are what references
    hand on, so they are asked for. So is an argument of which is spoken by a word of its name, unless that is said
    for another argument that is called so: who says `move the deadline to Friday` asks for no other deadline by it.
    """
    spoken = _spoken(scenario, policies)
    for want in given:
        spoken.subtract(_telling(want))
    optional: list[Wanted] = []
    required: list[Wanted] = []
    for want in handed_on:
        if not is_free(want.path, want.value, want.schema) or any(spoken[word] > 0 for word in _telling(want)):
            continue
        spec = toolset.get(want.tool)
        needed = spec.parameters.get("required", ()) if spec else ()
        top = re.split(r"[.\[]", want.path)[0]
        (required if top in needed else optional).append(want)
    return optional, required


def _spoken(scenario: Scenario, policies: Sequence[Policy]) -> Counter[str]:
    """Count the words of lines, else of all that the user is told, of policies, and those that known values go by."""
    texts = list(scenario.lines) or [text for _, text in of_user(scenario).texts]
    texts += [policy.text for policy in policies]
    said = [word for text in texts for word in _WORD.findall(plain(text))]
    return Counter(_stem(word) for word in (*said, *(word for key in scenario.knows for word in _words(key))))


def _telling(want: Wanted) -> set[str]:
    """Give the words of an argument's name that are none of its tool's, else those of its description."""
    last = re.sub(r"\[\d+\]", "", want.path).rsplit(".", 1)[-1]
    of_tool = _EMPTY | {_stem(word) for word in _words(want.tool)}
    described = want.schema.get("description")
    for text in (" ".join(_words(last)), described if isinstance(described, str) else ""):
        if telling := {_stem(word) for word in _WORD.findall(plain(text))} - of_tool:
            return telling
    return set()


def _stem(word: str) -> str:
    word = plain(word)
    return word[:-1] if word.endswith("s") and len(word) > _LEAST - 1 else word
