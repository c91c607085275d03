"""The Critic: whether a story can be used, by rules first; what it refuses it says, and why is counted.

Tool-to-scenario (§4.4, D.4) rejects what no user would want, such as one call with equal arguments more than twice in
a row, and what names values that no call gave. Here each argument must lead back to the pool or to an earlier result,
and each value of a sentence to what was known when it was said.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.seams import Role
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.tools.probing.reading import parsed
from pytest_agentbench.generation.tools.probing.schemas import read_slots
from pytest_agentbench.generation.tools.recruiting.pool import Pool, call_key
from pytest_agentbench.generation.tools.stories.completeness import said_in, unsaid
from pytest_agentbench.generation.tools.stories.facts import said_at
from pytest_agentbench.generation.tools.stories.faults import Fault
from pytest_agentbench.generation.tools.stories.flows import ARGUMENT, found_at
from pytest_agentbench.generation.tools.stories.handles import proves
from pytest_agentbench.generation.tools.stories.tracing import is_same_value
from pytest_agentbench.generation.tools.values import (
    END_OF_SIMULATION,
    RUN_CONVERSATION,
    Cards,
    Provenance,
    Step,
    Story,
)
from pytest_agentbench.generation.tools.wording.grounding import Grounds, holds_code, names_said
from pytest_agentbench.generation.tools.wording.phrasing import TONGUES, contracted, tasks_text
from pytest_agentbench.generation.tools.wording.saying import mentioned
from pytest_agentbench.generation.tools.wording.tongue import Tongue

Speaker = Literal["user", "agent"]

REPEATS = 2
"""Times in a row that one call with equal arguments is plausible (D.4)."""
_NAMED = 6
"""Values that a situation names."""


class CriticGiven(Model):
    """What a critic sees."""

    story: Story
    cards: Cards
    history: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


class Critique(Model):
    """A verdict; summary and situation are filled where the story is accepted."""

    is_coherent: bool
    reason: str
    summary: str = ""
    initial_situation: str = ""


Critic = Role[CriticGiven, Critique]


class TemplateCritic:
    """Accepts what the rules accept, and sums it up from the tools' descriptions."""

    async def __call__(self, given: CriticGiven, /) -> Critique:
        """Give summary and situation."""
        story = given.story
        tongue = TONGUES[story.language]
        calls = [step.call for step in story.steps if step.call is not None]
        cards = [card for call in calls if (card := given.cards.get(call.name)) is not None]
        tasks = tasks_text(cards, tongue, "third")
        pattern = tongue.summary_one if len({card.tool for card in cards}) == 1 else tongue.summary_many
        values = named_values(story, given.cards, tongue)
        entities = tongue.entities.format(values=tongue.joined.join(values)) if values else tongue.no_entities
        return Critique(
            is_coherent=True,
            reason="every argument and value is traced, and no call is repeated without need",
            summary=contracted(pattern.format(task=tasks, tasks=tasks, calls=len(calls)), tongue),
            initial_situation=f"{contracted(tongue.situation.format(tasks=tasks), tongue)} {entities}",
        )


def story_faults(story: Story, pool: Pool, cards: Cards) -> list[Fault]:
    """Give everything that rules find wrong with a story: its path, its arguments, its sentences, its plausibility."""
    return [
        *_path_faults(story),
        *_argument_faults(story, pool),
        *_repeats(story),
        *_value_faults(story, cards),
        *unsaid(story, cards),
    ]


def sentence_faults(text: str, grounds: Grounds, names: Sequence[str], *, speaker: Speaker) -> list[Fault]:
    """Give what is wrong with one sentence: values that are not known, and, of a user, words that only programs use."""
    if not text.strip():
        return [Fault("empty")]
    faults = [Fault("invented value", value) for value in grounds.unknown(text)]
    if speaker == "user":
        faults += [Fault("names a tool", name) for name in names_said(text, names)]
        faults += [Fault("holds code", text[:60])] if holds_code(text) else []
    return faults


def summary_faults(critique: Critique, story: Story, cards: Cards) -> list[Fault]:
    """Give what is wrong with a summary (entities, hedging) and a situation (hedging, values)."""
    tongue = TONGUES[story.language]
    grounds = grounds_of(story, cards)
    arguments = [value for step in story.steps if step.call for value in read_slots(step.call.arguments).values()]
    known = described(cards)
    faults = [] if critique.summary.strip() else [Fault("empty", "summary")]
    flat = f" {plain(critique.summary)} "
    for value in arguments:
        text = plain(str(value))
        is_word = text.isalpha() and str(value).islower() and known.says(text)
        is_entity = isinstance(value, str) and len(text) > 2 and not is_word
        if is_entity and f" {text} " in flat.replace(",", " ").replace(".", " "):
            faults.append(Fault("no entities allowed", str(value)))
    for name, text in (("summary", critique.summary), ("initial_situation", critique.initial_situation)):
        faults += [Fault("hedged", f"{hedge!r} in the {name}") for hedge in hedges_of(text, cards, tongue)[:1]]
    situation = critique.initial_situation.strip()
    if sentences(situation) != 2:
        faults.append(Fault("two sentences asked for", f"initial_situation has {sentences(situation)}"))
    faults += sentence_faults(situation, grounds, names_of(cards), speaker="user")
    return faults


def hedges_of(text: str, cards: Cards, tongue: Tongue) -> list[str]:
    """Give the words by which a text hedges, but for those that a tool's description says itself."""
    said = plain(" ".join(f"{card.declared_description} {card.actual_description}" for card in cards.cards))
    hedges = [match[0] for match in tongue.hedges.finditer(text)]
    return [hedge for hedge in hedges if plain(hedge) not in said]


def sentences(text: str) -> int:
    """Count the sentences of a text; points in numbers and abbreviations of one letter end none."""
    ends = 0
    for place, char in enumerate(text):
        following = text[place + 1 : place + 3]
        is_end = char in ".!?" and (not following.strip() or (following[:1].isspace() and not following[1:2].islower()))
        is_last = not text[place + 1 :].strip()
        ends += is_end and (
            is_last or not (place >= 2 and text[place - 2 : place].strip().isupper() and text[place - 2] == " ")
        )
    return ends if text.rstrip()[-1:] in ".!?" or not text.strip() else ends + 1


def named_values(story: Story, cards: Cards, tongue: Tongue) -> list[str]:
    """Give what the user names, each once, names first."""
    said = [one for step in story.steps for one in said_in(step, cards, tongue)]
    ordered = sorted(said, key=lambda one: not one.is_name)
    found: dict[str, str] = {}
    for one in ordered:
        if text := mentioned(one):
            found.setdefault(one.text, text)
    return list(found.values())[:_NAMED]


def names_of(cards: Cards) -> list[str]:
    """Give the names of tools and arguments, which users do not say."""
    return [name for card in cards.cards for name in (card.tool, *(one.path for one in card.parameters))]


def _path_faults(story: Story) -> Iterator[Fault]:
    nodes = [RUN_CONVERSATION]
    for step in story.steps:
        if step.source != nodes[-1]:
            yield Fault("not the walk", f"{step.source} after {nodes[-1]}")
        nodes.append(step.target)
        if (step.call is not None) != (step.operation in ("select", "extract")):
            yield Fault("not the walk", f"{step.operation} {'with' if step.call else 'without'} a call")
        if step.call is not None and step.call.name != step.target:
            yield Fault("not the walk", f"a call of {step.call.name} on the way to {step.target}")
    if tuple(nodes) != story.walk.nodes and (*nodes[:-2], END_OF_SIMULATION) != story.walk.nodes:
        yield Fault("not the walk", " -> ".join(nodes))


def _argument_faults(story: Story, pool: Pool) -> Iterator[Fault]:
    """Yield every argument that does not lead back to a pool entry or to a place of an earlier result."""
    results: list[tuple[JsonValue, Mapping[str, JsonValue]]] = []
    used: set[str] = set()
    for step in story.steps:
        if step.call is None:
            continue
        proof: dict[str, Provenance] = {one.argument: one for one in step.provenance}
        slots = read_slots(step.call.arguments)
        for path, value in slots.items():
            if path not in proof or not _is_proven(value, proof[path], step, pool, results):
                yield Fault("invented argument", f"{step.call.name}({path}={value!r})")
        for path in proof.keys() - slots.keys():
            yield Fault("invented argument", f"{step.call.name} has no argument {path}")
        if step.handle is not None and not proves(step.handle, pool, slots):
            yield Fault("invented argument", f"{step.call.name} is not about {step.handle.value!r}")
        for entry in {one.entry for one in step.provenance if one.entry}:
            if entry in used and step.operation == "select":
                yield Fault("implausible", f"the verified call {entry} is used twice")
            used.add(entry)
        results.append((parsed(step.content), read_slots(step.call.arguments)))


def _is_proven(
    value: JsonValue,
    proof: Provenance,
    step: Step,
    pool: Pool,
    results: Sequence[tuple[JsonValue, Mapping[str, JsonValue]]],
) -> bool:
    if proof.source == "pool":
        entry = pool.get(proof.entry)
        if entry is None or step.call is None or entry.tool != step.call.name:
            return False
        return is_same_value(read_slots(entry.arguments).get(proof.argument), value)
    if proof.call is None or not 0 <= proof.call < len(results):
        return False
    result, given = results[proof.call]
    if proof.path.startswith(ARGUMENT):
        return is_same_value(given.get(proof.path.removeprefix(ARGUMENT)), value)
    found = [one.value for one in found_at(result, proof.path)]
    return any(is_same_value(one, value) or (isinstance(one, str) and str(value) in one) for one in found)


def _repeats(story: Story) -> Iterator[Fault]:
    keys = [call_key(step.call.name, step.call.arguments) for step in story.steps if step.call is not None]
    for key, group in itertools.groupby(keys):
        if (count := len(list(group))) > REPEATS:
            yield Fault("implausible", f"{count} times in a row: {key[:100]}")


def _value_faults(story: Story, cards: Cards) -> Iterator[Fault]:
    """Yield the values of sentences that were not known when they were said; a user knows its own arguments ahead."""
    grounds = described(cards)
    names = names_of(cards)
    steps = list(story.steps)
    last: JsonValue = None
    for place, step in enumerate(steps):
        if step.operation == "select":  # a request is for all calls of its turn, and may ask for what they give
            for ahead in _turn_from(steps, place):
                pool = {one.argument for one in ahead.provenance if one.source == "pool"}
                arguments = read_slots(ahead.call.arguments) if ahead.call else {}
                grounds.add({path: value for path, value in arguments.items() if path in pool})
                grounds.add([one.text for one in said_in(ahead, cards, TONGUES[story.language])])
                grounds.add(list(ahead.facts))
        if step.call is not None:
            grounds.add(step.call.arguments)
        speaker: Speaker = "user" if step.operation in ("select", "close") else "agent"
        if step.operation != "select":
            grounds.add(last)
        yield from sentence_faults(step.sentence, grounds, names, speaker=speaker)
        if step.call is not None:
            last = parsed(step.content)
        for name, path in step.facts.items():
            if said_at(last, path) is None:
                yield Fault("invented value", name)


def _turn_from(steps: Sequence[Step], place: int) -> Iterator[Step]:
    for step in steps[place:]:
        yield step
        if step.operation == "tell":
            return


def described(cards: Cards) -> Grounds:
    """Give what the tools' descriptions say, which anybody may say."""
    grounds = Grounds()
    for card in cards.cards:
        grounds.add([card.declared_description, card.actual_description, card.trigger])
        grounds.add([parameter.schema_.get("description", "") for parameter in card.parameters])
    return grounds


def grounds_of(story: Story, cards: Cards) -> Grounds:
    """Give all that is known at the end of a story: arguments, results, what users call things and ask to be told."""
    grounds = described(cards)
    for step in story.steps:
        grounds.add(list(step.facts))
        if step.call is not None:
            grounds.add(step.call.arguments)
            grounds.add(parsed(step.content))
            grounds.add([one.text for one in said_in(step, cards, TONGUES[story.language])])
    return grounds
