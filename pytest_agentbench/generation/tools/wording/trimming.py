"""What of a description is a wish: its first clause with its object, not conditions, limits, side effects and means.

`Cancel an order that is not delivered yet and refund the client` is said to programmers; a user wants to `cancel an
order`. What an argument is for stays, whatever it looks like.
"""

import re

from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.tools.values import Card
from pytest_agentbench.generation.tools.wording.tongue import Tongue

WOVEN = "\0"
"""Marks where a value was woven into a task."""
_CLAUSE = re.compile(r"[.,;:(\n]")
_RELATIVE = re.compile(r" (?:that|which|who|que|qui|dont) ")
_STEM = 4
"""Letters by which a word of a description is one of an argument's name; shorter words tell nothing."""
_SHORT = 4
"""Words of a relative clause that says no more than a state: `that is open`."""


def trimmed(task: str, card: Card, tongue: Tongue) -> str:
    """Leave out of a task what the tool says of itself."""
    said = _first(task, card, tongue)
    if said.split(maxsplit=1)[0].lower() not in tongue.looks and card.writes is not False:
        said = tongue.condition.sub(lambda match: match[0] if _is_kept(match[0], card, tongue) else "", said)
    said = tongue.limit.sub("", said)
    for pattern in (tongue.provided, tongue.means):
        match = pattern.search(said)
        if match is not None and _has_object(said[: match.start()], tongue) and not _names(match[0], card):
            said = said[: match.start()] + said[match.end() :]
    return said.strip(" ,")


def without_options(task: str, tongue: Tongue) -> str:
    """Leave out what a description calls optional; where a value was woven in, only the word for it."""
    return tongue.optionally.sub(lambda match: f", {match['rest']}" if WOVEN in match["rest"] else "", task)


def _first(task: str, card: Card, tongue: Tongue) -> str:
    """Leave a second verb with an object of its own out, of which no argument tells."""
    if card.writes is False:
        return task
    for match in tongue.second.finditer(task):
        verb, rest = match["verb"].lower(), task[match.start("verb") :]
        is_verb = tongue.forms.get(verb) == verb or tongue.infinitive.fullmatch(verb) is not None
        clause = _RELATIVE.split(rest, maxsplit=1)[0]
        is_own = _has_object(task[: match.start()], tongue) and not tongue.same_thing.search(clause)
        if is_verb and is_own and not _names(rest, card):
            return task[: match.start()]
    return task


def _is_kept(clause: str, card: Card, tongue: Tongue) -> bool:
    """Whether a relative clause is more than the state that the thing must be in."""
    is_state = tongue.state.search(clause) is not None or len(clause.split()) <= _SHORT
    return not is_state or _names(clause, card)


def _has_object(text: str, tongue: Tongue) -> bool:
    return any(word.lower() in tongue.determiners for word in re.findall(r"[^\W\d_]+", text))


def _names(text: str, card: Card) -> bool:
    """Whether a text has a word of an argument's name or of how it is described."""
    own = {word for one in card.parameters for word in humanize(one.path.replace("*", "")).split()}
    for one in card.parameters:
        told = one.schema_.get("description")
        own |= set(re.findall(r"[^\W\d_]+", _CLAUSE.split(told)[0].lower())) if isinstance(told, str) else set()
    said = {word.lower() for word in re.findall(r"[^\W\d_]+", text)}
    return any(len(word) >= _STEM and any(other.startswith(word.rstrip("s")) for other in said) for word in own)
