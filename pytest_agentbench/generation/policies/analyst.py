"""The analyst: a model proposes for each entry a rule, the tools it concerns and how hard it is to keep.

Every part is held in code against the rule language, the tools and the rows. What does not hold is asked once more with
the reasons; what then does not hold is dropped and counted.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from pydantic import Field

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.generation.policies.data_types import Challenge, ExtractedPolicy
from pytest_agentbench.generation.policies.facts import Facts
from pytest_agentbench.generation.policies.identity import key_of
from pytest_agentbench.generation.policies.model_question import Answer, ask_twice
from pytest_agentbench.llm.protocols import Chat
from pytest_agentbench.spec.loading import read_yaml

_BATCH = 8
"""Entries in one question."""

_NOTE = 300
"""Characters of a note."""


class Analysed(Answer):
    """What one entry means."""

    number: int
    sentence: str = Field(description="the words of the entry that the rule says, copied exactly")
    tools: list[str] = Field(description="names of the tools that the entry concerns")
    challenge: Challenge
    rule: str = Field(description="a rule in one line of YAML, or an empty text")
    reason: str = Field(description="why there is no rule, or what of the entry it leaves out; may be empty")


class Analyses(Answer):
    """One for each entry, in order."""

    entries: list[Analysed]


class Dropped(Model):
    """A part of a proposal that did not hold: of which policy, which part, and why."""

    policy: str
    part: str
    reason: str


class Analysis(Model):
    """The policies with what was proposed for them, and what was dropped."""

    policies: tuple[ExtractedPolicy, ...] = ()
    dropped: tuple[Dropped, ...] = ()


@dataclass(frozen=True)
class Analyst:
    """Proposes with a model: a call for every 8 entries, what is refused once more."""

    chat: Chat
    facts: Facts
    random: Random

    async def __call__(self, policies: Sequence[ExtractedPolicy]) -> Analysis:
        """Propose for each policy; one that the model says nothing about stays as it is."""
        batches = [policies[at : at + _BATCH] for at in range(0, len(policies), _BATCH)]
        found = [pair for pairs in await asyncio.gather(*map(self._batch, batches)) for pair in pairs]
        return Analysis(
            policies=tuple(policy for policy, _ in found),
            dropped=tuple(
                Dropped(policy=policy.id, part=part, reason=reason)
                for policy, wrong in found
                for part, reason in wrong.items()
            ),
        )

    async def _batch(self, batch: Sequence[ExtractedPolicy]) -> list[tuple[ExtractedPolicy, dict[str, str]]]:
        """Give each policy with its proposal, and what of that did not hold."""
        entries = [f"{n}. [{' > '.join(one.under) or one.category}] {one.text}" for n, one in enumerate(batch, 1)]
        answers = await ask_twice(
            self.chat,
            Analyses,
            "analyst.v1",
            data="\n".join((*self.facts.lines(), "", *entries)),
            random=self.random,
            faults=lambda answer: list(self._faults(answer, batch)),
        )
        found = []
        for number, policy in enumerate(batch, 1):
            entries_of = [one for answer in answers for one in answer.entries if one.number == number]
            options = [(one, self._wrong(one, policy)) for one in entries_of]
            if options:
                proposed, wrong = min(options, key=lambda option: len(option[1]))
                found.append((self._proposed(policy, proposed, wrong), wrong))
            else:
                found.append((policy, {"entry": "the model left it out twice"}))
        return found

    def _proposed(self, policy: ExtractedPolicy, proposed: Analysed, wrong: dict[str, str]) -> ExtractedPolicy:
        names = {spec.name for spec in self.facts.tools}
        return policy.model_copy(
            update={
                "challenge": proposed.challenge,
                "tools": tuple(name for name in dict.fromkeys(proposed.tools) if name in names),
                "rule": None if {"rule", "sentence"} & wrong.keys() else _read(proposed.rule),
                "source": "" if "sentence" in wrong else proposed.sentence,
                "note": shorten(" ".join(printable(proposed.reason).split()), _NOTE),
            }
        )

    def _faults(self, answer: Analyses, batch: Sequence[ExtractedPolicy]) -> Iterator[str]:
        if sorted(one.number for one in answer.entries) != list(range(1, len(batch) + 1)):
            yield f"give each entry from 1 to {len(batch)} once"
        for one in answer.entries:
            if 1 <= one.number <= len(batch):
                wrong = self._wrong(one, batch[one.number - 1])
                yield from (f"entry {one.number}, {part}: {reason}" for part, reason in wrong.items())

    def _wrong(self, one: Analysed, policy: ExtractedPolicy) -> dict[str, str]:
        """Say of each part that does not hold why."""
        wrong = {}
        names = [spec.name for spec in self.facts.tools]
        if unknown := [name for name in one.tools if name not in names]:
            wrong["tools"] = f"there is no tool {printable(unknown[0])!r}; there are {', '.join(names)}"
        if one.rule.strip() and key_of(one.sentence) not in key_of(policy.text):
            wrong["sentence"] = "it does not stand in the entry"
        try:
            rule = _read(one.rule)
        except SuiteError as error:
            return {**wrong, "rule": f"no YAML: {shorten(str(error.problems[0].message), 200)}"}
        if rule is not None and (found := self.facts.faults(rule, policy.text)):
            wrong["rule"] = shorten("; ".join(dict.fromkeys(found)), 500)
        return wrong


def _read(rule: str) -> Any:
    """Read a rule; None for an empty text or `null`."""
    return read_yaml(rule, Path("rule")).value if rule.strip() else None
