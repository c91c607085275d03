"""The driver of every source: each draft is worded, guarded, criticised, assembled, accepted, and written.

Drafts are taken in rounds, worked on at the same time within a round, and reported to their source in order, so that
the same seed gives the same files whatever answers first. A session that is broken off goes on where it stood.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.modifier import MODIFIER_NAMES, ModifierSpec
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.generation.accept import Acceptance, LostError
from pytest_agentbench.generation.assemble import notes_of, scenario_forms, scenario_id
from pytest_agentbench.generation.casting import Casting
from pytest_agentbench.generation.decidable import rows_of
from pytest_agentbench.generation.draft import Draft, Loss, Persona, Source
from pytest_agentbench.generation.language.critic import Critic
from pytest_agentbench.generation.language.guard import line_faults
from pytest_agentbench.generation.language.plain import PlainWording, label_of
from pytest_agentbench.generation.language.writer import ModelWording, cut, persona_faults, uncuttable
from pytest_agentbench.generation.recipe import Told, hashes_of, recipe_of
from pytest_agentbench.generation.report import CriticCount, Report, estimate_of
from pytest_agentbench.generation.store import SCENARIOS, Finished, Saved, ScenarioFile, Store, hash_of
from pytest_agentbench.generation.wording import ConversationBrief, ToolLine, Wording
from pytest_agentbench.results.files import LineLog
from pytest_agentbench.users.modifiers.plan import plan as plan_modifiers
from pytest_agentbench.validation.scenario import Shared

WRITER, CRITIC = "writer", "critic"
"""The roles that a model can play here."""

CONCURRENT = 8
"""Drafts worked on at the same time where a model words them."""

_MORE, _SPARE = 3, 10
"""Drafts that are tried for each scenario asked for, and those beside, at most."""
_HOPELESS = {False: 25, True: 8}
"""Drafts lost at the beginning after which no further one is tried, without a model and with one."""
_EARLIER = 12
"""Purposes of earlier scenarios that a writer sees."""
_SUMMARY = 160


@dataclass(kw_only=True)
class Production:
    """One recipe at work: `source` gives drafts, `wording` their lines. `made_from` is the hash of all behind it.

    `wanted` None takes the recipe's count. `today` is the date that expectations may not be near, `state` the initial
    state where it can be read. Where a model plays the `critic`, it decides in the blind solver's place. `replaces`
    names, by their drafts, the files that its own stand for, and all others stay; `log` is then the caller's affair.
    None: its files stand for all of earlier sessions, where at least one draft is accepted.
    """

    suite: Suite
    toolset: Toolset
    source: Source
    store: Store
    made_from: str
    today: date
    casting: Casting | None = None
    replaces: Mapping[str, str] | None = None
    log: str = ""
    wording: Wording = field(default_factory=PlainWording)
    state: State | None = None
    wanted: int | None = None
    force: bool = False
    told: Told = lambda _: None
    now: Callable[[], float] = time.monotonic
    accepted: list[Draft] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    critic: Critic | None = None
    stopped: str = ""

    def __post_init__(self) -> None:
        """Have models play the writer and the critic where the recipe says so."""
        writer = self.casting.chat(WRITER) if self.casting else None
        critic = self.casting.chat(CRITIC) if self.casting else None
        if writer is not None:
            self.wording = ModelWording(writer, [policy.text for policy in self.suite.policies])
        if writer is not None and critic is not None:
            self.critic = Critic(critic, self.toolset, self.suite.policies)

    async def run(self, **more: Any) -> Report:
        """Make the scenarios, write them and the report's data; `more` are fields of the report (coverage, lines)."""
        recipe = recipe_of(self.suite)
        self._hashes = hashes_of(self.suite, self.toolset)
        estimate = estimate_of(self.wording.spec, self._wanted) if isinstance(self.wording, ModelWording) else ""
        if estimate:
            self.told(estimate)
        with tempfile.TemporaryDirectory(prefix="agentbench-") as directory:
            shared = Shared(isolation=IsolationGate(Path(directory)), now=self.now, seed=recipe.seed, mutate=False)
            self._acceptance = Acceptance(
                suite=self.suite, toolset=self.toolset, shared=shared, today=self.today, state=self.state
            )
            await self._all()
        saved = self._saved(files := [self._file(draft) for draft in self.accepted])
        return Report(
            name=self.suite.name,
            source=recipe.source,
            seed=recipe.seed,
            wanted=self._wanted,
            out=self.store.path / SCENARIOS,
            accepted=tuple(self.accepted),
            losses=tuple(self.losses),
            scenarios=sum(len(one.forms) for one in files),
            kept=len(saved.kept),
            foreign=tuple(file.name for file in saved.foreign),
            removed=len(saved.removed),
            left=0 if self.accepted or self.replaces is not None else self.store.count_open(),
            stopped=self.stopped,
            critic=self.critic.count if self.critic else CriticCount(),
            usage=self.casting.usage if self.casting else {},
            players=self.casting.players if self.casting else {},
            estimate=estimate,
            **more,
        )

    def _saved(self, files: Sequence[ScenarioFile]) -> Saved:
        """Write the files; those of earlier sessions, and the log of theirs, stay where nothing was accepted."""
        is_whole = bool(self.accepted) and self.replaces is None
        saved = self.store.save_scenarios(files, review=recipe_of(self.suite).review, whole=is_whole)
        if is_whole:
            self.store.finish(self.log)
        return saved

    @property
    def _wanted(self) -> int:
        return recipe_of(self.suite).count if self.wanted is None else self.wanted

    @property
    def _has_model(self) -> bool:
        return not isinstance(self.wording, PlainWording)

    async def _all(self) -> None:
        """Take drafts until there are as many scenarios as asked for, no draft is left, or there is no hope."""
        self.log = self.log or self.store.log_of(self.made_from, anew=self.force)
        known = self.store.finished(self.made_from, self.log)
        log = self.store.log(self.log)
        most = _MORE * self._wanted + _SPARE
        try:
            async with aclosing(_generator(self.source)) as drafts:
                while (missing := self._wanted - len(self.accepted)) > 0 and not self.stopped:
                    size = min(missing, CONCURRENT) if self._has_model else 1
                    taken = [one for _ in range(size) if (one := await anext(drafts, None)) is not None]
                    for outcome in await self._round(taken, known, log):
                        self._note(outcome)
                    if not taken:
                        self.stopped = "the source has no further drafts (ask for fewer, or give it more to work on)"
                    elif len(self.accepted) + len(self.losses) >= most:
                        self.stopped = f"{most} drafts were tried"
                    elif not self.accepted and len(self.losses) >= _HOPELESS[self._has_model]:
                        self.stopped = f"the first {len(self.losses)} drafts were all lost"
        finally:
            log.close()

    async def _round(
        self, taken: Sequence[Draft | Loss], known: Mapping[str, Finished], log: LineLog
    ) -> Sequence[Finished]:
        """Work on drafts at the same time; what is finished is logged, in order, even where another one breaks off."""
        tasks = [asyncio.create_task(self._finished(one, known)) for one in taken]
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            for planned, task in zip(taken, tasks, strict=True):
                if isinstance(planned, Loss) or not task.done() or task.cancelled() or task.exception() is not None:
                    continue
                if known.get(planned.id) is not task.result():
                    log.append(task.result().model_dump(mode="json"))
        return [task.result() for task in tasks]

    def _note(self, one: Finished) -> None:
        if one.draft is not None:
            self.accepted.append(one.draft)
            self.source.accepted(one.draft)
            self.told(f"scenario {len(self.accepted)} of {self._wanted}")
        elif one.loss is not None:
            self.losses.append(one.loss)
            self.source.lost(one.loss)
            self.told(f"{one.id} lost: {one.loss.stage}: {one.loss.reason}: {one.loss.detail}")

    async def _finished(self, planned: Draft | Loss, known: Mapping[str, Finished]) -> Finished:
        if isinstance(planned, Loss):
            return Finished(id=planned.draft, planned="", loss=planned)
        mark = hash_of(planned)
        before = known.get(planned.id)
        if before is not None and before.planned == mark:
            return before
        try:
            draft = await self._made(planned)
        except LostError as error:
            return Finished(id=planned.id, planned=mark, loss=error.loss)
        return Finished(id=planned.id, planned=mark, draft=draft)

    async def _made(self, planned: Draft) -> Draft:
        draft = await self._criticised(await self._worded(planned))
        forms = scenario_forms(draft, hashes=self._hashes, seed=recipe_of(self.suite).seed)
        draft = self._with_modifiers(draft, [self._acceptance.read(draft, form) for form in forms])
        forms = scenario_forms(draft, hashes=self._hashes, seed=recipe_of(self.suite).seed)
        found = await self._acceptance.accept(draft, forms, solved=self.critic is not None)
        if isinstance(found, Loss):
            raise LostError(draft, found.stage, found.reason, found.detail)
        return found

    async def _worded(self, planned: Draft) -> Draft:
        """Give the draft its lines; every line is held against the same guard."""
        brief = self._brief(planned)
        try:
            found = await self.wording.lines(brief)
        except UnusableAnswerError as error:
            raise LostError(planned, "wording", "the model gives no usable answer", str(error)) from None
        if found.absurd:
            raise LostError(planned, "wording", "absurd", found.absurd)
        last = len(planned.turns) - 1 if found.last is None else found.last
        if why := uncuttable(planned, found.first, last):
            raise LostError(planned, "wording", "cut where it cannot be", why)
        planned = cut(planned, found.first, last)
        if not planned.calls and not any(turn.refused for turn in planned.turns):
            raise LostError(planned, "wording", "cut to nothing")
        if len(found.lines) != len(planned.turns):
            raise LostError(planned, "wording", "not a line for each turn", f"{len(found.lines)} lines")
        turns = [turn.model_copy(update={"line": line}) for turn, line in zip(planned.turns, found.lines, strict=True)]
        worded = planned.model_copy(update={"turns": tuple(turns), "worded_by": self.wording.name})
        policies = [policy.text for policy in self.suite.policies]
        for number, turn in enumerate(worded.turns, start=1):
            for fault in line_faults(turn.line, turn, worded, policies=policies):
                raise LostError(planned, "wording", "a line that does not say what it must", f"line {number}: {fault}")
        personas = [found.personas[place % len(found.personas)] for place in range(brief.personas) if found.personas]
        for persona in personas if self._has_model else ():
            for fault in persona_faults(persona, worded):
                raise LostError(planned, "persona", "a persona that does not know what it must", fault)
        return worded.model_copy(update={"personas": tuple(personas)})

    async def _criticised(self, draft: Draft) -> Draft:
        """Have the blind critic find the writes of a worded draft, where a model plays it."""
        if self.critic is None:
            return draft
        try:
            opinion = await self.critic.review(draft, rows_of(draft, self.state))
        except UnusableAnswerError as error:
            raise LostError(draft, "critic", "the model gives no usable answer", str(error)) from None
        if opinion.why:
            raise LostError(draft, "critic", opinion.why, opinion.detail)
        return draft.model_copy(update={"purpose": opinion.purpose, "situation": opinion.situation})

    def _brief(self, draft: Draft) -> ConversationBrief:
        return ConversationBrief(
            draft=draft,
            tools=tool_lines(self.toolset),
            rows=rows_of(draft, self.state),
            earlier=tuple(one.purpose for one in self.accepted[-_EARLIER:] if one.purpose),
            personas=recipe_of(self.suite).personas,
        )

    def _with_modifiers(self, draft: Draft, scenarios: Sequence[Scenario]) -> Draft:
        """Give each persona after the first one modifier that fits, another one each."""
        personas: list[Persona] = list(draft.personas)
        specs = [ModifierSpec(name=name) for name in MODIFIER_NAMES]
        for place in range(1, len(personas)):
            fitting, _ = plan_modifiers(
                specs, scenarios[place], self.state, seed=recipe_of(self.suite).seed, tools=self.toolset.of("assistant")
            )
            names = [one.name for one in fitting]
            if names and not personas[place].modifiers:
                chosen = names[(place - 1) % len(names)]
                personas[place] = personas[place].model_copy(update={"modifiers": (chosen,)})
        return draft.model_copy(update={"personas": tuple(personas)})

    def _file(self, draft: Draft) -> ScenarioFile:
        forms = scenario_forms(draft, hashes=self._hashes, seed=recipe_of(self.suite).seed)
        return ScenarioFile(
            name=scenario_id(draft),
            forms=forms,
            notes=notes_of(draft, self.suite.path.name),
            replaces=(self.replaces or {}).get(draft.id, ""),
        )


def tool_lines(toolset: Toolset) -> tuple[ToolLine, ...]:
    """Give the agent's tools in a line each."""
    return tuple(
        ToolLine(
            name=spec.name,
            summary=" ".join(spec.description.split())[:_SUMMARY],
            arguments={
                name: label_of(name, schema if isinstance(schema, dict) else None)
                for name, schema in spec.parameters.get("properties", {}).items()
            },
        )
        for spec in toolset.of("assistant")
    )


async def _generator(source: Source) -> AsyncGenerator[Draft | Loss]:
    async for one in source.drafts():
        yield one
