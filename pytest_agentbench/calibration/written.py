"""Conversations that a model writes, tools and results included, and another one lets through (TRACE §2.2, §2.3).

POS is written zero-shot and NEG one-shot, about one group of tools at a time, with names drawn. What is let through is
silver; offering the filter conversations under a wrong situation tells how far it is to be trusted.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from pydantic import Field

from pytest_agentbench.calibration.asking import INVENTIVE, Answer, ask, seeded, shown, usable
from pytest_agentbench.calibration.labelled import Case, Labelled
from pytest_agentbench.calibration.scene import decoded, phrases
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.suites.language import language_name

UNWRITTEN = frozenset({"wrong-action-silent", "trusted-wrong-fact"})
"""Situations that text cannot show: only the state does, and what is written has none (TRACE, B.5, on the first)."""

POSITIVE = 0.35
"""The share of POS conversations (TRACE, table 2: 182 of 516)."""

MOST_TOOLS = 6
"""Tools of a group: one group at a time leaves a prompt short (TRACE §2.2)."""

TRIED = 8
"""Conversations that the filter is offered under a situation that is not theirs, and as many under their own."""

_FEWEST = 3


class Commission(Model):
    """One conversation to write; `example` is one of the same situation, None for zero-shot."""

    situation: str
    toolset: Toolset
    language: str
    user: str = ""
    agent: str = ""
    example: Case | None = None


class Offered(Model):
    """A conversation and the situation that it is said to be of."""

    situation: str
    case: Case


class Step(Answer):
    """One thing that is said or called."""

    by: Literal["user", "agent", "call"]
    text: str = Field(description="what is said, or the tool's name")
    arguments: str = Field(description="of a call: a JSON object")
    result: str = Field(description="of a call: what the tool returned")
    failed: bool = Field(description="of a call: whether that is an error")


class Dialogue(Answer):
    """The conversation."""

    steps: list[Step]


class Fits(Answer):
    """The review."""

    reason: str = Field(description="one sentence")
    fits: bool


@dataclass
class Written:
    """What came of commissions: `kept` are silver, `refused` was held back by the filter, `failed` is not written.

    `caught` of `misnamed` conversations under a wrong situation were held back, and `let` of `named` under their own
    were let through.
    """

    kept: list[Labelled] = field(default_factory=list)
    refused: list[tuple[Labelled, str]] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)
    caught: int = 0
    misnamed: int = 0
    let: int = 0
    named: int = 0

    @property
    def precision(self) -> float | None:
        """How many of those that the filter let through are of their situation, as far as code knows it."""
        through = self.let + self.misnamed - self.caught
        return self.let / through if self.named and through else None


def commissions(
    toolset: Toolset, examples: Sequence[Labelled], *, count: int, languages: Sequence[str], seed: int
) -> Iterator[Commission]:
    """Draw what is to be written: POS zero-shot, NEG one-shot where `examples` hold one; same seed, same draws."""
    random = Random(f"{seed}/written")  # noqa: S311 - chooses tools and names
    names = {
        label: [one.id for one in situations().values() if one.label == label and one.id not in UNWRITTEN]
        for label in ("POS", "NEG")
    }
    random.shuffle(names["NEG"])
    groups = tool_groups(toolset)
    drawn = Counter[str]()
    for number in range(count):
        label = "POS" if drawn["POS"] < round(POSITIVE * (number + 1)) else "NEG"
        name = names[label][drawn[label] % len(names[label])]
        drawn[label] += 1
        language = languages[number % len(languages)]
        alike = [one for one in examples if one.situation == name]
        ours = [one for one in alike if one.language == language] or alike
        user, agent = random.sample(phrases(language)["names"], 2)
        yield Commission(
            situation=name,
            toolset=random.choice(groups),
            language=language,
            user=user,
            agent=agent,
            example=random.choice(ours).case if ours and label == "NEG" else None,
        )


def tool_groups(toolset: Toolset) -> list[Toolset]:
    """Give groups of tools that take an argument of the same name, six at most; those left alone are one group."""
    specs = toolset.of("assistant")

    def shared(one: ToolSpec, other: ToolSpec) -> int:
        return len(one.parameters.get("properties", {}).keys() & other.parameters.get("properties", {}).keys())

    groups: list[list[ToolSpec]] = []
    for spec in specs:
        near = sorted(specs, key=lambda other: (-shared(spec, other), specs.index(other)))
        nearest = [other for other in near if other is spec or shared(spec, other)][:MOST_TOOLS]
        group = [one for one in specs if one in nearest]
        groups += [group] if group not in groups else []
    alone = [spec for group in groups if not group[1:] for spec in group][:MOST_TOOLS]
    return [Toolset(specs=tuple(group)) for group in [*(one for one in groups if one[1:]), alone] if group]


def misnamed(examples: Sequence[Labelled], seed: int, count: int = TRIED) -> list[Offered]:
    """Give conversations under another situation of the same satisfaction, which a filter has to hold back."""
    random, found = Random(seed), []  # noqa: S311 - chooses conversations
    for case in _drawn(examples, random, count):
        own = situations()[case.situation]
        others = [
            one.id
            for one in situations().values()
            if one.user == own.user and (one.tool, one.label) != (own.tool, own.label) and one.id not in UNWRITTEN
        ]
        found.append(Offered(situation=random.choice(others), case=case.case))
    return found


def rightly_named(examples: Sequence[Labelled], seed: int, count: int = TRIED) -> list[Offered]:
    """Give conversations under their own situation, which a filter has to let through."""
    random = Random(f"{seed}/right")  # noqa: S311 - chooses conversations
    return [Offered(situation=case.situation, case=case.case) for case in _drawn(examples, random, count)]


def _drawn(examples: Sequence[Labelled], random: Random, count: int) -> list[Labelled]:
    shown = [case for case in examples if case.situation in situations() and case.situation not in UNWRITTEN]
    return random.sample(shown, min(count, len(shown)))


async def written(
    commissions: Sequence[Commission],
    writer: Chat,
    reviewer: Chat,
    *,
    seed: int = 0,
    wrong: Sequence[Offered] = (),
    right: Sequence[Offered] = (),
) -> Written:
    """Have all commissions written at once and each reviewed; the order is theirs. The filter is tried on the offers.

    `wrong` are conversations under a situation that is not theirs, `right` such under their own.
    """

    async def of(number: int, given: Commission) -> tuple[Labelled, Fits]:
        labelled = _labelled(number, given, await _dialogue(writer, given, seed))
        return labelled, await _reviewed(reviewer, Offered(situation=given.situation, case=labelled.case), seed)

    def fits(offered: Offered) -> Awaitable[Fits | None]:
        return usable(_reviewed(reviewer, offered, seed), lambda _: None)

    refused, let, found = await asyncio.gather(
        asyncio.gather(*map(fits, wrong)),
        asyncio.gather(*map(fits, right)),
        asyncio.gather(*(usable(of(number, given), str) for number, given in enumerate(commissions, start=1))),
    )
    answers = [[one.fits for one in given if one] for given in (refused, let)]
    made = Written(
        caught=answers[0].count(False), misnamed=len(answers[0]), let=answers[1].count(True), named=len(answers[1])
    )
    for outcome in found:
        if isinstance(outcome, str):
            made.failed[outcome] += 1
        elif outcome[1].fits:
            made.kept.append(outcome[0])
        else:
            made.refused.append((outcome[0], outcome[1].reason))
    return made


async def _reviewed(chat: Chat, given: Offered, seed: int) -> Fits:
    """Ask whether a conversation is exactly of its situation (TRACE, B.4)."""
    data, random = [shown(given.case, with_evidence=False)], seeded(seed, "filter", digest(given))
    return await ask(chat, Fits, "filter.v1", data=data, random=random, situation=situations()[given.situation].text)


async def _dialogue(chat: Chat, given: Commission, seed: int) -> Dialogue:
    """Ask for a conversation as commissioned; raise `UnusableAnswerError` where it is none, twice."""
    tools = "\n".join(json.dumps(spec.openai()["function"], ensure_ascii=False) for spec in given.toolset)
    examples = [] if given.example is None else [shown(given.example, with_evidence=False)]
    return await ask(
        chat,
        Dialogue,
        "dialogue.v1",
        data=[f"The tools:\n{tools}", *examples],
        random=seeded(seed, "write", digest(given)),
        temperature=INVENTIVE,
        faults=lambda answer: list(_faults(answer.steps, given.toolset)),
        situation=situations()[given.situation].text,
        language=language_name(given.language),
        user=given.user,
        agent=given.agent,
    )


def _faults(steps: Sequence[Step], toolset: Toolset) -> Iterator[str]:
    if len(steps) < _FEWEST or steps[0].by != "user" or steps[-1].by != "user":
        yield f"it has {len(steps)} steps; it begins and ends with the user, and the agent speaks in between"
        return
    if not any(step.by == "agent" for step in steps):
        yield "the agent says nothing"
    for number, step in enumerate(steps, start=1):
        if step.by != "call":
            if not step.text.strip():
                yield f"step {number} says nothing"
            continue
        spec, arguments = toolset.get(step.text), decoded(step.arguments or "{}")
        if spec is None:
            yield f"step {number}: there is no tool {step.text!r}"
        elif not isinstance(arguments, dict):
            yield f"step {number}: `arguments` is no JSON object"
        elif spec.arguments is not None and (unknown := sorted(arguments.keys() - spec.arguments)):
            yield f"step {number}: {step.text} takes no argument {unknown[0]!r}"


def _labelled(number: int, given: Commission, dialogue: Dialogue) -> Labelled:
    messages: list[Message] = []
    for place, step in enumerate(dialogue.steps):
        if step.by == "call":
            arguments = decoded(step.arguments or "{}")
            call = ToolCall.model_validate({"name": step.text, "arguments": arguments, "id": f"call_{place}"})
            messages.append(Message(role="assistant", tool_calls=(call,)))
            messages.append(Message(role="tool", content=step.result, tool_call_id=call.id, error=step.failed))
        else:
            messages.append(Message(role="user" if step.by == "user" else "assistant", content=step.text.strip()))
    return Labelled.of(
        situations()[given.situation],
        id=f"written-{number}-{given.situation}",
        case=Case(transcript=Transcript(messages=tuple(messages)), toolset=given.toolset),
        language=given.language,
        grade="silver",
        wording="model",
    )
