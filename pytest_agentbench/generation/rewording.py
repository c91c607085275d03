"""`agentbench generate SUITE --reword`: scenarios that plain phrases worded get the words of the recipe's model.

Calls, values and rows stay; each is guarded, criticised and accepted anew. One that the model cannot word, or that its
critic refuses, keeps its file as it is, with the hashes of what it was made from; so does one that a person wrote or
reviewed. A rewording that is broken off changes nothing, and goes on from its own log.
"""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import ClassVar

from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.generation.assemble import scenario_id
from pytest_agentbench.generation.casting import Casting, Chats
from pytest_agentbench.generation.draft import Draft, Loss
from pytest_agentbench.generation.language.plain import PLAIN
from pytest_agentbench.generation.produce import CRITIC, WRITER, Production
from pytest_agentbench.generation.recipe import Outcome, Told, hashes_of, recipe_of
from pytest_agentbench.generation.report import document_of, lines_of
from pytest_agentbench.generation.store import DRAFTS, Store

REWORDED = "reworded.jsonl"
"""The log of a rewording, until it has written its files."""


@dataclass
class _Roles(Casting):
    """The roles of wording; those of the stages before are played by nobody here."""

    known: ClassVar[tuple[str, ...]] = (WRITER, CRITIC)


@dataclass
class _Stored:
    """A source of drafts that were accepted before, without their words."""

    stored: Sequence[Draft]

    async def drafts(self) -> AsyncIterator[Draft | Loss]:
        """Give them in order."""
        for draft in self.stored:
            yield wordless(draft)

    def accepted(self, draft: Draft) -> None:
        """Nothing is drawn anew."""

    def lost(self, loss: Loss) -> None:
        """Nothing is drawn anew."""


def wordless(draft: Draft) -> Draft:
    """Give a draft as its source planned it: without lines, personas and summaries."""
    turns = tuple(turn.model_copy(update={"line": ""}) for turn in draft.turns)
    update = {"turns": turns, "personas": (), "purpose": "", "situation": "", "worded_by": ""}
    return draft.model_copy(update=update)


async def reword(
    suite: Suite,
    toolset: Toolset,
    *,
    chats: Chats | None,
    today: date,
    state: State | None = None,
    told: Told = lambda _: None,
    now: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Word the stored scenarios of a recipe anew; raise `SuiteFaultError` where there is no model, or none stored."""
    recipe = recipe_of(suite)
    if recipe.model is None or chats is None:
        raise SuiteFaultError(f"{suite.path}: generate.llm: names no model; `--reword` has one word the scenarios")
    store = Store(recipe.out)
    origin, records = store.stored()
    stored = [one.draft for one in records if one.draft is not None and store.file_of(scenario_id(one.draft)).is_file()]
    if not stored:
        raise SuiteFaultError(f"{store.path / DRAFTS}: no scenarios are stored; run `agentbench generate` first")
    pending = [draft for draft in stored if store.is_open(scenario_id(draft))]
    plain = [draft for draft in pending if draft.worded_by == PLAIN]
    left = len(stored) - len(pending)
    told(
        f"{len(plain)} scenarios to reword, {len(pending) - len(plain)} have the words of a model"
        + (f", {left} are left alone: reviewed, or written by somebody else" if left else "")
    )
    roles = {"roles": _of_wording(recipe.roles)}
    made_from = digest([hashes_of(suite, toolset).model_dump(), "reword"])
    store.begin(REWORDED, made_from)
    production = Production(
        suite=suite,
        toolset=toolset,
        source=_Stored(plain),
        store=store,
        made_from=made_from,
        today=today,
        state=state,
        wanted=len(plain),
        told=told,
        now=now,
        casting=_Roles(recipe.model_copy(update=roles), chats),
        replaces={draft.id: scenario_id(draft) for draft in plain},
        log=REWORDED,
    )
    report = await production.run()
    reworded = {draft.id: draft for draft in report.accepted}
    now_stored = [
        one if one.id not in reworded else one.model_copy(update={"draft": reworded[one.id]}) for one in records
    ]
    store.write(DRAFTS, now_stored, origin)
    store.remove(REWORDED)
    line = f"{len(report.accepted)} reworded; {len(plain) - len(reworded)} keep their plain words"
    report = replace(report, lines=(line,))
    store.save_report(document_of(report))
    return Outcome(lines=tuple(lines_of(report)), accepted=len(stored), wanted=len(stored))


def _of_wording(roles: Sequence[str]) -> tuple[str, ...]:
    """Keep the roles of wording; where a recipe names none of them, the model plays both."""
    return tuple(role for role in roles if role in (WRITER, CRITIC)) or (WRITER, CRITIC)
