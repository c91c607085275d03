"""What a scripted user wants: the values of the writes that its scenario expects, and what would contradict them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.matchers import is_matcher
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.spoken import plain, states
from pytest_agentbench.core.tool import Toolset

_CODE = re.compile(r"[^\W_][\w@.+-]*")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
_LONG_NUMBER = 4
"""Digits from which a number without letters is taken for one that names a thing."""
_READ = 20_000
"""Characters of a text that are read, half of them from its end."""
_WEAK = 2
"""Characters up to which a value is stated by chance."""


class Wanted(Model):
    """A value of an expected write; `others` are what its schema would have admitted instead.

    One without a name is an id that the user's own words hold; nothing contradicts it. `times` is the number of
    expected writes that it stands in, `writes` which ones: the way and the position of each.
    """

    name: str
    value: str | int | float
    others: tuple[str | int | float, ...] = ()
    times: int = 1
    writes: frozenset[tuple[int, int]] = frozenset()

    @property
    def is_telling(self) -> bool:
        """Whether a text that states the value is likely to be about it: no single digit or short word."""
        return len(str(self.value)) > _WEAK or not str(self.value).isalnum() or bool(shape(str(self.value)))


def wants_of(scenario: Scenario, toolset: Toolset) -> tuple[Wanted, ...]:
    """Compile what the user wants from the agent's expected writes; tools are not named in it."""
    found: list[Wanted] = []
    times: Counter[str] = Counter()
    for number, way in enumerate(scenario.ways):
        here: Counter[str] = Counter()
        for position, call in enumerate(way.expected_calls):
            spec = toolset.get(call.name)
            if call.requestor != "assistant" or (spec is not None and spec.kind in ("read", "generic")):
                continue
            properties = (spec.parameters.get("properties") if spec else None) or {}
            wanted: list[Wanted] = []
            for name, value in call.arguments.items():
                schema = properties.get(name)
                wanted += _leaves(name, value, schema if isinstance(schema, dict) else {})
            here.update({plain(str(one.value)) for one in wanted})
            found += [one.model_copy(update={"writes": frozenset({(number, position)})}) for one in wanted]
        times |= here
    distinct: dict[tuple[str, str], Wanted] = {}
    for one in found:
        known = distinct.get((one.name, repr(one.value)))
        writes = one.writes | (known.writes if known else frozenset())
        changes = {"times": times[plain(str(one.value))], "writes": writes}
        distinct[one.name, repr(one.value)] = one.model_copy(update=changes)
    telling = [one for one in distinct.values() if one.is_telling]
    return tuple(telling or distinct.values())


def undone(wants: Iterable[Wanted], done: Iterable[str | int | float]) -> list[Wanted]:
    """Give what is still wanted when writes with the values `done` were made, each as often as it stands there."""
    made = Counter(plain(str(value)) for value in done)
    return [one for one in wants if made[plain(str(one.value))] < one.times]


def states_a_write(stated: Sequence[Wanted], wants: Iterable[Wanted]) -> bool:
    """Whether `stated` holds every value that is wanted in some expected write."""
    missing = {write for one in wants if one not in stated for write in one.writes}
    return any(one.writes - missing for one in stated)


def wants_in(texts: Iterable[str], wants: Sequence[Wanted]) -> tuple[Wanted, ...]:
    """Give what the user asks for itself: the ids in its requests, of kinds that no expected write speaks of.

    A right agent need not write what it is asked to, and a wrong one is shown only where its question gets a yes.
    """
    shapes = {shape(plain(str(one.value))) for one in wants}
    codes = {code: raw for text in texts for code, raw in codes_in(text).items() if shape(code) not in shapes}
    return tuple(Wanted(name="", value=raw) for raw in codes.values())


def _leaves(name: str, value: Any, schema: dict[str, Any]) -> Iterator[Wanted]:
    if isinstance(value, bool) or value is None or is_matcher(value):
        return
    if isinstance(value, dict):
        inner = schema.get("properties")
        for key, item in value.items():
            found = inner.get(key) if isinstance(inner, dict) else None
            yield from _leaves(key, item, found if isinstance(found, dict) else {})
    elif isinstance(value, list | tuple):
        items = schema.get("items")
        for item in value:
            yield from _leaves(name, item, items if isinstance(items, dict) else {})
    elif isinstance(value, str | int | float):
        admitted = schema.get("enum")
        others = admitted if isinstance(admitted, list) else []
        yield Wanted(
            name=name,
            value=value,
            others=tuple(one for one in others if isinstance(one, str) and one != value and len(one) > _WEAK),
        )


def stated(wants: Iterable[Wanted], text: str, locale: str) -> list[Wanted]:
    """Give the wanted values that a text states."""
    return [one for one in wants if states(one.value, text, locale)]


def contradicted(wants: Sequence[Wanted], text: str, known: frozenset[str], locale: str) -> list[Wanted]:
    """Give the wanted values in whose place a text states another: an id of the same shape, or one of the choices.

    An id that the user itself knows of contradicts only where the wanted one is not stated beside it.
    """
    found: list[Wanted] = []
    wanted = {plain(str(one.value)) for one in wants}
    codes = [code for code in codes_in(text) if code not in wanted]
    for one in (one for one in wants if one.name):
        own = shape(plain(str(one.value)))
        rivals = [code for code in codes if own and shape(code) == own]
        is_stated = states(one.value, text, locale)
        if is_stated:
            rivals = [code for code in rivals if code not in known]
        choices = [other for other in one.others if plain(str(other)) not in wanted]
        if rivals or any(states(other, text, locale) for other in choices):
            found.append(one)
    return found


def clipped(text: str) -> str:
    """Give both ends of a huge text, so that time stays bounded."""
    return text if len(text) <= _READ else f"{text[: _READ // 2]} {text[-_READ // 2 :]}"


@lru_cache(maxsize=256)
def codes_in(text: str) -> dict[str, str]:
    """Give the words of a text that look like ids, in `plain` form with how they stand there.

    That are letters with digits, e-mail addresses and long numbers.
    """
    words = (word.rstrip(".+-") for word in _CODE.findall(clipped(text)))
    return {code: word for word in words if shape(code := plain(word))}


def shape(text: str) -> str:
    """Give what ids of one kind have in common: their letters, and how their digits stand; "" for what is no id."""
    if _EMAIL.fullmatch(text):
        return "@"
    if " " in text or not any(char.isdigit() for char in text):
        return ""
    if any(char.isalpha() for char in text):
        return re.sub(r"\d+", "0", text.casefold())
    return re.sub(r"\d", "0", text) if text.isdigit() and len(text) >= _LONG_NUMBER else ""
