"""Stories with one thing wrong in them, and sound ones reworded: made by rules that know nothing of the critic's.

Each kind takes a story and a random number source and gives a story, or None where it has no place for that.
"""

import itertools
import re
from collections.abc import Callable
from random import Random
from typing import Any

from pytest_agentbench.generation.tools.values import Step, Story

Kind = Callable[[Story, Random], Story | None]

_LETTERS = "bcdfghjklmnpqrstvwz"


def changed(story: Story, place: int, **fields: Any) -> Story:
    """The story with one step changed."""
    steps = list(story.steps)
    steps[place] = steps[place].model_copy(update=fields)
    return story.model_copy(update={"steps": tuple(steps)})


def _calls(story: Story) -> list[int]:
    return [place for place, step in enumerate(story.steps) if step.call is not None and step.call.arguments]


def _spoken(story: Story) -> list[int]:
    return [place for place, step in enumerate(story.steps) if step.sentence]


def _told(story: Story, places: list[int], random: Random, change: Callable[[str], str | None]) -> Story | None:
    for place in random.sample(places, len(places)):
        sentence = change(story.steps[place].sentence)
        if sentence is not None and sentence != story.steps[place].sentence:
            return changed(story, place, sentence=sentence)
    return None


def _other(value: Any, random: Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + random.choice([1, 2, 7, 31])
    text = str(value)
    digits = [place for place, char in enumerate(text) if char.isdigit()]
    if digits:
        place = random.choice(digits)
        return f"{text[:place]}{(int(text[place]) + random.randint(1, 9)) % 10}{text[place + 1 :]}"
    return text[:-1] + random.choice(_LETTERS) + text[-1:] if text else "x"


def argument(story: Story, random: Random) -> Story | None:
    """An argument has another value than the call it came from."""
    place = random.choice(_calls(story))
    call = story.steps[place].call
    assert call is not None
    name = random.choice(sorted(call.arguments))
    wrong = {**call.arguments, name: _other(call.arguments[name], random)}
    return changed(story, place, call=call.model_copy(update={"arguments": wrong}))


def anothers_argument(story: Story, random: Random) -> Story | None:
    """An argument has the value that another call of the story has under that name."""
    for place in random.sample(_calls(story), len(_calls(story))):
        call = story.steps[place].call
        assert call is not None
        for other in _calls(story):
            there = story.steps[other].call
            assert there is not None
            for name in sorted(call.arguments.keys() & there.arguments.keys()):
                if call.arguments[name] != there.arguments[name]:
                    wrong = {**call.arguments, name: there.arguments[name]}
                    return changed(story, place, call=call.model_copy(update={"arguments": wrong}))
    return None


def unproven(story: Story, random: Random) -> Story | None:
    """An argument's provenance is gone."""
    place = random.choice(_calls(story))
    proof = list(story.steps[place].provenance)
    proof.pop(random.randrange(len(proof)))
    return changed(story, place, provenance=tuple(proof))


def wrong_proof(story: Story, random: Random) -> Story | None:
    """A provenance leads to an entry or a place that there is not."""
    place = random.choice(_calls(story))
    proof = list(story.steps[place].provenance)
    number = random.randrange(len(proof))
    one = proof[number]
    moved = {"entry": f"{one.entry}9"} if one.source == "pool" else {"path": f"{one.path}.x", "call": one.call}
    proof[number] = one.model_copy(update=moved)
    return changed(story, place, provenance=tuple(proof))


def number(story: Story, random: Random) -> Story | None:
    """A sentence has a number with two more digits."""
    return _told(
        story,
        _spoken(story),
        random,
        lambda text: re.sub(
            r"(?<![\w.])(\d+)(?!\w)", lambda found: found[1] + str(random.randint(11, 99)), text, count=1
        ),
    )


def added(story: Story, random: Random) -> Story | None:
    """A sentence goes on with something that nobody gave: an amount, a name, a code, a day, a time, an address."""
    name = random.choice(_LETTERS).upper() + "".join(random.choice("aeiou" + _LETTERS) for _ in range(7))
    more = random.choice([
        f"That is {random.randint(10_000, 99_999)} in all.",
        f"Greetings to {name} as well.",
        f"The code is {random.choice(_LETTERS).upper()}{random.randint(1000, 9999)}X.",
        f"It was on {random.randint(2031, 2039)}-0{random.randint(1, 9)}-{random.randint(10, 28)}.",
        f"It is called “{name} {name[::-1]}”.",
        f"Write to {name.lower()}@example.org.",
        f"There are {random.choice(['seventy-three', 'ninety-one', 'eighty-six'])} more.",
    ])  # fmt: skip
    place = random.choice(_spoken(story))
    return changed(story, place, sentence=f"{story.steps[place].sentence} {more}")


def renamed(story: Story, random: Random) -> Story | None:
    """A name within a sentence is another one."""
    name = random.choice(_LETTERS).upper() + "".join(random.choice("aeiou" + _LETTERS) for _ in range(6))
    return _told(
        story,
        _spoken(story),
        random,
        lambda text: re.sub(r"(?<=[a-z] )[A-ZÉ][\w-]{3,}", name, text, count=1),
    )


def tool_named(story: Story, random: Random) -> Story | None:
    """A user says a tool's name as programs spell it."""
    places = [place for place, step in enumerate(story.steps) if step.operation in ("select", "close")]
    tool = next((step.call.name for step in story.steps if step.call and "_" in step.call.name), None)
    place = random.choice(places)
    return tool and changed(story, place, sentence=f"{story.steps[place].sentence} Use {tool} for it.")  # type: ignore[return-value]


def code_said(story: Story, random: Random) -> Story | None:
    """A user says its values as JSON."""
    place = next(place for place, step in enumerate(story.steps) if step.operation == "select")
    return changed(story, place, sentence=f'{story.steps[place].sentence} {{"want": "this"}}')


def silent(story: Story, random: Random) -> Story | None:
    """A user leaves out the values of a request."""
    for place, step in enumerate(story.steps):
        pooled = [one for one in step.provenance if one.source == "pool"]
        values = [str(value) for value in step.call.arguments.values()] if step.call and pooled else []
        before = " ".join(one.sentence for one in story.steps[:place])
        named = [str(step.handle.value)] if step.handle else []
        if step.operation == "select" and values and not any(value in before for value in values + named):
            return changed(story, place, sentence="Please do something for me.")
    return None


def renamed_thing(story: Story, random: Random) -> Story | None:
    """The name by which a user speaks of something belongs to another thing."""
    for place, step in enumerate(story.steps):
        if step.handle is not None:
            other = step.handle.model_copy(update={"value": _other(step.handle.value, random)})
            return changed(story, place, handle=other)
    return None


def repeated(story: Story, random: Random) -> Story | None:
    """A call is made three times in a row."""
    place = random.choice(_calls(story))
    step: Step = story.steps[place]
    steps = [*story.steps[:place], step, step, *story.steps[place:]]
    return story.model_copy(update={"steps": tuple(steps)})


def dropped(story: Story, random: Random) -> Story | None:
    """A call of the walk is not made."""
    place = random.choice(_calls(story))
    return story.model_copy(update={"steps": (*story.steps[:place], *story.steps[place + 1 :])})


def swapped(story: Story, random: Random) -> Story | None:
    """Two calls of different tools change places."""
    calls = _calls(story)
    for left, right in itertools.pairwise(calls):
        first, second = story.steps[left], story.steps[right]
        if first.target != second.target:
            steps = list(story.steps)
            steps[left], steps[right] = second, first
            return story.model_copy(update={"steps": tuple(steps)})
    return None


def untellable(story: Story, random: Random) -> Story | None:
    """What the agent is to tell stands nowhere in the answer."""
    for place, step in enumerate(story.steps):
        if step.facts:
            return changed(story, place, facts=dict.fromkeys(step.facts, "nowhere.at_all"))
    return None


CORRUPTIONS: tuple[Kind, ...] = (
    argument, anothers_argument, unproven, wrong_proof, number, added, renamed, tool_named, code_said, silent,
    renamed_thing, repeated, dropped, swapped, untellable,
)  # fmt: skip


def _words(number: int) -> str | None:
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    french = ["zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze"]
    return {"en": names, "fr": french}["en"][number] if number < len(names) else None


def spelt_out(story: Story, random: Random) -> Story | None:
    """A small number of a sentence is written in words."""

    def change(text: str) -> str | None:
        return re.sub(r"(?<![\w.,:-])(\d{1,2})(?![\w.,:-])", lambda one: _words(int(one[1])) or one[0], text, count=1)

    return _told(story, _spoken(story), random, change) if story.language == "en" else None


def shouted(story: Story, random: Random) -> Story | None:
    """A sentence is written without accents and with other quotation marks."""
    return _told(
        story,
        _spoken(story),
        random,
        lambda text: text.replace("é", "e").replace("É", "E").replace("ô", "o").replace('"', "”"),
    )


def rounded(story: Story, random: Random) -> Story | None:
    """A decimal of what the agent says has one digit less."""
    places = [place for place, step in enumerate(story.steps) if step.operation == "tell"]
    return _told(
        story, places, random, lambda text: re.sub(r"\d+\.\d\d+", lambda one: f"{float(one[0]):.1f}", text, count=1)
    )


def polite(story: Story, random: Random) -> Story | None:
    """A sentence has pleasantries around it."""
    place = random.choice(_spoken(story))
    sentence = story.steps[place].sentence
    if story.language == "fr":
        return changed(story, place, sentence=f"Bonjour, merci d'avance. {sentence} Bonne journée !")
    return changed(story, place, sentence=f"Hello, thanks a lot in advance. {sentence} Have a nice day!")


REWORDINGS: tuple[Kind, ...] = (spelt_out, shouted, rounded, polite)
