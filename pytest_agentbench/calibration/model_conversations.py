"""Conversations that a model writes, tools and results included, and another one lets through (TRACE §2.2, §2.3).

POS is written zero-shot and NEG one-shot, about one group of tools at a time, with names drawn. What is let through is
silver; offering the filter conversations under a wrong situation tells how far it is to be trusted.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from pydantic import Field

from pytest_agentbench.calibration.dataset import CLEAR_CUT, INVENTIVE, Case, Labelled, seeded, shown, situations
from pytest_agentbench.calibration.situation_player import phrases
from pytest_agentbench.checks.judges.rubric_judge import Answer, ask
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.json_values import decoded
from pytest_agentbench.core.tool import ToolCall, Toolset, ToolSpec
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.llm.structured import usable
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

    caught: int
    misnamed: int
    let: int
    named: int
    kept: list[Labelled] = field(default_factory=list)
    refused: list[tuple[Labelled, str]] = field(default_factory=list)
    failed: Counter[str] = field(default_factory=Counter)

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
            example=random.choice(ours) if ours and label == "NEG" else None,
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


def offers(examples: Sequence[Labelled], seed: int, *, rightly: bool) -> list[Offered]:
    """Give conversations that a filter is tried on: `rightly` under their own situation, which it has to let through.

    Else they stand under another one of the same satisfaction, which it has to hold back.
    """
    random = Random(f"{seed}/right" if rightly else seed)  # noqa: S311 - chooses conversations
    known = {name: one for name, one in situations().items() if name not in UNWRITTEN}
    shown = [case for case in examples if case.situation in known]
    found = []
    for case in random.sample(shown, min(TRIED, len(shown))):
        own = known[case.situation]
        others = [
            n for n, one in known.items() if one.user == own.user and (one.tool, one.label) != (own.tool, own.label)
        ]
        found.append(Offered(situation=own.id if rightly else random.choice(others), case=case))
    return found


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

    `wrong` are conversations under a situation that is not theirs, `right` such under their own. A review asks whether
    a conversation is exactly of its situation (TRACE, B.4).
    """

    async def reviewed(given: Offered) -> Fits:
        data, random = [shown(given.case)], seeded(seed, "filter", digest(given))
        values = {"situation": situations()[given.situation].text}
        return await ask(reviewer, Fits, "filter.v1", data=data, random=random, values=values, how=CLEAR_CUT)

    async def of(number: int, given: Commission) -> tuple[Labelled, Fits]:
        labelled = await _written(number, given, writer, seed)
        return labelled, await reviewed(Offered(situation=given.situation, case=labelled))

    async def fits(offers: Sequence[Offered]) -> list[bool]:
        given = await asyncio.gather(*(usable(reviewed(one), lambda _: None) for one in offers))
        return [one.fits for one in given if one]

    held, let, found = await asyncio.gather(
        fits(wrong),
        fits(right),
        asyncio.gather(*(usable(of(number, given), str) for number, given in enumerate(commissions, start=1))),
    )
    made = Written(caught=held.count(False), misnamed=len(held), let=let.count(True), named=len(let))
    for outcome in found:
        if isinstance(outcome, str):
            made.failed[outcome] += 1
        elif outcome[1].fits:
            made.kept.append(outcome[0])
        else:
            made.refused.append((outcome[0], outcome[1].reason))
    return made


async def _written(number: int, given: Commission, chat: Chat, seed: int) -> Labelled:
    """Ask for a conversation as commissioned; raise `UnusableAnswerError` where it is none, twice."""
    tools = "\n".join(json.dumps(spec.openai()["function"], ensure_ascii=False) for spec in given.toolset)
    dialogue = await ask(
        chat,
        Dialogue,
        "dialogue.v1",
        data=[f"The tools:\n{tools}", *([shown(given.example)] if given.example else [])],
        random=seeded(seed, "write", digest(given)),
        faults=lambda answer: list(_faults(answer.steps, given.toolset)),
        values={
            "situation": situations()[given.situation].text,
            "language": language_name(given.language),
            "user": given.user,
            "agent": given.agent,
        },
        how=INVENTIVE,
    )
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
        transcript=Transcript(messages=tuple(messages)),
        toolset=given.toolset,
        language=given.language,
        grade="silver",
        wording="model",
    )


def _faults(steps: Sequence[Step], toolset: Toolset) -> Iterator[str]:
    if len(steps) < _FEWEST or steps[0].by != "user" or steps[-1].by != "user":
        yield f"it has {len(steps)} steps; it begins and ends with the user, and the agent speaks in between"
        return
    if not any(step.by == "agent" for step in steps):
        yield "the agent says nothing"
    for number, step in enumerate(steps, start=1):
        spec, arguments = toolset.get(step.text), decoded(step.arguments or "{}")
        if step.by != "call":
            yield from () if step.text.strip() else (f"step {number} says nothing",)
        elif spec is None:
            yield f"step {number}: there is no tool {step.text!r}"
        elif not isinstance(arguments, dict):
            yield f"step {number}: `arguments` is no JSON object"
        elif spec.arguments is not None and (unknown := sorted(arguments.keys() - spec.arguments)):
            yield f"step {number}: {step.text} takes no argument {unknown[0]!r}"
