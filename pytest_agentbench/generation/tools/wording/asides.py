"""Sentences for values that a request has no place for: `The hire contract is HC-870, and the hour meter shows 310.`"""

import re
from collections.abc import Sequence

from pytest_agentbench.generation.tools.wording.phrasing import contracted, is_prose, with_article
from pytest_agentbench.generation.tools.wording.saying import Said
from pytest_agentbench.generation.tools.wording.tongue import Tongue

_INDEFINITE = re.compile(r" of an? ")
_LONG = 110
"""Characters of a sentence to which another clause is joined."""


def aside(said: Said, tongue: Tongue) -> str:
    """Give the clause that says one value, beginning with a small letter."""
    if said.is_truth:
        for pattern, yes, no in tongue.whether_aside:
            if match := pattern.match(said.label):
                return (yes if said.text == tongue.yes else no).format(**match.groupdict())
    for pattern, phrase in tongue.asides:
        match = pattern.match(said.label)
        if match is not None:
            return phrase.format(value=said.text, **match.groupdict())
    if _is_searched(said.label.lower().split(), tongue):
        return tongue.looking.format(value=said.text)
    first = said.label.split(maxsplit=1)[0].lower()
    text = said.text.strip('"')
    label = said.noun if said.noun and (said.is_handle or _is_code(said)) else said.label
    if tongue.denial.match(text):
        return contracted(tongue.aside.format(label=with_article(label, tongue), value=text), tongue)
    is_told = first in tongue.questions or bool(tongue.joining & set(label.split())) or "\n" in text
    if is_told or tongue.statement.match(text) or (text != said.text and is_prose(text)):
        return tongue.aside.format(label=said.label, value=text)
    label = with_article(_INDEFINITE.sub(" of the ", label), tongue)
    turning = (
        re.split(r" (?:of|for|to|from|in|that|who|which|whose|with|pour|de|des|du) ", label)[0]
        if tongue.code == "en"
        else label
    )
    phrase = tongue.are_values if tongue.plural.search(turning) else tongue.is_value
    return contracted(phrase.format(label=label, value=text), tongue)


def _is_code(said: Said) -> bool:
    """Whether a label ends with what only programs call a name: `slot id`."""
    return said.is_identity and said.label.split()[-1].lower() in ("id", "identifier")


def _is_searched(label: list[str], tongue: Tongue) -> bool:
    """Whether a label says nothing but that its value is searched for: `search text`, and not `old text`."""
    texts = tongue.searching - tongue.identifying
    return bool(set(label) & texts) and set(label) <= texts | tongue.vague


def sentences(clauses: Sequence[str], tongue: Tongue) -> str:
    """Join clauses to sentences, two short ones to one."""
    said: list[str] = []
    for clause in clauses:
        is_short = said and ":" not in said[-1] and ":" not in clause and tongue.joined not in said[-1]
        if is_short and len(said[-1]) + len(clause) < _LONG:
            said[-1] = f"{said[-1]}{tongue.joined}{clause}"
        else:
            said.append(clause)
    return " ".join(f"{one[0].upper()}{one[1:]}{'' if re.search(r'[.!?]$', one) else '.'}" for one in said)
