"""Whether a user says all that nobody can guess: each value that no result gives, and what it wants to be told."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.recruiting.scouting import is_needed
from pytest_agentbench.generation.tools.stories.faults import Fault
from pytest_agentbench.generation.tools.stories.narrator import WishGiven
from pytest_agentbench.generation.tools.stories.referring import is_spoken
from pytest_agentbench.generation.tools.values import Cards, Handle, Step, Story
from pytest_agentbench.generation.tools.wording.grounding import Grounds
from pytest_agentbench.generation.tools.wording.phrasing import TONGUES, value_text
from pytest_agentbench.generation.tools.wording.saying import Said, said_of
from pytest_agentbench.generation.tools.wording.tongue import Code, Tongue


@dataclass(frozen=True, kw_only=True)
class RequestCheck:
    """What a user's line must hold."""

    wishes: tuple[WishGiven, ...]
    asks_for: str
    language: Code
    narrative: tuple[str, ...] = ()


def request_faults(line: str, check: RequestCheck) -> list[Fault]:
    """Give what a user's line leaves out: a value that no result gives, or the name of what it wants to be told."""
    tongue = TONGUES[check.language]
    heard, now = _Heard(line, [*check.narrative, line]), _Heard(line, [line])
    faults: list[Fault] = []
    for wish in check.wishes:
        every = said_of(wish.card, wish.given, wish.handle, tongue)
        optional = [one for one in every if any(_is_chosen(path, wish) for path in one.paths)]
        faults += _left_out([one for one in every if one not in optional], wish.given, wish.handle, heard, tongue)
        faults += _left_out(optional, wish.given, wish.handle, now, tongue)
    if check.asks_for and not all(heard.said.has_word(word) for word in check.asks_for.split()):
        faults.append(Fault("left out", f"that the user wants to be told {check.asks_for!r}, in these words"))
    return faults


def _is_chosen(path: str, wish: WishGiven) -> bool:
    """Whether a value is one that nobody would give again unless asked to: a choice that may be left out."""
    needed = {parameter.path for parameter in wish.card.parameters if is_needed(parameter)}
    return path in wish.given and path not in needed and is_spoken(path, wish.given[path], wish.card)


def unsaid(story: Story, cards: Cards) -> Iterator[Fault]:
    """Yield the values of a story that its user would have to say and has not said by then."""
    tongue = TONGUES[story.language]
    lines: list[str] = []
    for step in story.steps:
        if step.operation in ("select", "tell", "close"):
            lines.append(step.sentence)
        if step.call is None:
            continue
        heard = _Heard(" ".join(lines), lines)
        yield from _left_out(said_in(step, cards, tongue), read_slots(step.call.arguments), step.handle, heard, tongue)


def said_in(step: Step, cards: Cards, tongue: Tongue) -> list[Said]:
    """Give what the user says for the call of a step, as people call it.

    That is what is from the pool, and what of a result no reference hands on.
    """
    card = cards.get(step.call.name) if step.call else None
    if step.call is None or card is None:
        return []
    pool = {one.argument for one in step.provenance if one.source == "pool"}
    slots = read_slots(step.call.arguments)
    spoken = {path for path, value in slots.items() if path in pool or is_spoken(path, value, card)}
    given = {path: value for path, value in slots.items() if path in spoken and not isinstance(value, bool)}
    return said_of(card, given, step.handle, tongue)


class _Heard:
    """What was said: the text in plain letters, and the values in it."""

    def __init__(self, line: str, lines: Sequence[str]) -> None:
        self.flat = plain(line)
        self.said = Grounds()
        for one in lines:
            self.said.add(one)

    def has(self, value: JsonValue, tongue: Tongue) -> bool:
        """Whether a value was said, a list entry by entry."""
        items = value if isinstance(value, list) and value else [value]
        return all(
            self.said.has_value(item)
            or any(
                plain(value_text(item, tongue, is_listed=listed).strip('"')) in self.flat for listed in (False, True)
            )
            for item in items
        )


def _left_out(
    every: Sequence[Said], values: Mapping[str, JsonValue], handle: Handle | None, heard: _Heard, tongue: Tongue
) -> Iterator[Fault]:
    for one in every:
        given = [] if handle and one.paths == handle.replaces else [values[path] for path in one.paths]
        if any(isinstance(value, bool) for value in given):
            continue
        text = one.text.strip('"')
        is_whole = plain(text) in heard.flat or heard.said.says(text)
        if not is_whole and not (given and all(heard.has(value, tongue) for value in given)):
            yield Fault("left out", f"{one.label}: {one.text}")
