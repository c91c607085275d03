"""The driver of every source: each draft is worded, guarded, criticised, assembled, accepted, and written.

Drafts are taken in rounds, worked on at the same time within a round, and reported to their source in order, so that
the same seed gives the same files whatever answers first. A session that is broken off goes on where it stood.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.core.files import LineLog
from pytest_agentbench.core.modifier import MODIFIER_NAMES, ModifierSpec
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.generation.accept import Acceptance
from pytest_agentbench.generation.assemble import notes_of, scenario_forms, scenario_id
from pytest_agentbench.generation.decidable import rows_of
from pytest_agentbench.generation.draft import Draft, Loss, LostError, Source
from pytest_agentbench.generation.language.critic import Critic, Why
from pytest_agentbench.generation.language.wording import (
    ConversationBrief,
    ConversationLines,
    ModelWording,
    PlainWording,
    Wording,
    faults_of,
)
from pytest_agentbench.generation.recipe import Told, hashes_of, recipe_of
from pytest_agentbench.generation.recipe_folder import DraftLog, Finished, ScenarioFile, Store, hash_of
from pytest_agentbench.generation.report import Report, estimate_of
from pytest_agentbench.generation.roles import CRITIC, WRITER, RoleModels
from pytest_agentbench.generation.tools.hydration.rules import SuiteRules
from pytest_agentbench.generation.tools.world import gate_of
from pytest_agentbench.users.modifiers.plan import plan as plan_modifiers
from pytest_agentbench.validation.scenario import Shared

CONCURRENT = 8
"""Drafts worked on at the same time where a model words them."""

_MORE, _SPARE = 3, 10
"""Drafts that are tried for each scenario asked for, and those beside, at most."""
_HOPELESS = {False: 25, True: 8}
"""Drafts lost at the beginning after which no further one is tried, without a model and with one."""
_EARLIER = 12
"""Purposes of earlier scenarios that a writer sees."""


@dataclass(kw_only=True)
class Production:
    """One recipe at work: `source` gives drafts, `wording` their lines. `made_from` is the hash of all behind it.

    `wanted` None takes the recipe's count. `today` is the date that expectations may not be near, `state` the initial
    state where it can be read. Where a model plays the `critic`, it decides in the blind solver's place. `replaces`
    names, by their drafts, the files that its own stand for. All others stay, but those of drafts that a model calls
    absurd, where it words at least one; `log` is then the caller's affair.
    None: its files stand for all of earlier sessions, where at least one draft is accepted. `at_once` drafts are
    worked on at the same time without a model.
    """

    suite: Suite
    toolset: Toolset
    source: Source
    store: Store
    made_from: str
    today: date
    roles: RoleModels | None = None
    replaces: Mapping[str, str] | None = None
    log: DraftLog | None = None
    wording: Wording = field(default_factory=PlainWording)
    state: State | None = None
    wanted: int | None = None
    at_once: int = 1
    force: bool = False
    told: Told = lambda _: None
    now: Callable[[], float] = time.monotonic
    critic: Critic | None = None

    def __post_init__(self) -> None:
        self._recipe = recipe_of(self.suite)
        self._hashes = hashes_of(self.suite, self.toolset)
        self._rules = SuiteRules(self.suite.policies, self.toolset, self.suite.now)
        wanted = self._recipe.count if self.wanted is None else self.wanted
        self._report = Report(suite=self.suite, wanted=wanted, roles=self.roles)
        if self.roles and (writer := self.roles.chat(WRITER)):
            self.wording = ModelWording(writer, self._rules)
            if critic := self.roles.chat(CRITIC):
                self.critic = Critic(critic, self.toolset, self.suite.policies)
        self._verdicts: list[Why] = []
        self._has_model = not isinstance(self.wording, PlainWording)

    async def run(self) -> Report:
        """Make the scenarios, write them, and report."""
        report = self._report
        if isinstance(self.wording, ModelWording):
            report.estimate = estimate_of(self.wording.spec, report.wanted, self._recipe.chains)
            self.told(report.estimate)
        log = self.log or self.store.log_of(self.made_from, anew=self.force)
        isolation = gate_of(self.suite.root / ".agentbench")  # that of the tools' worlds, which may share a service
        self._acceptance = Acceptance(
            suite=self.suite,
            toolset=self.toolset,
            shared=Shared(isolation=isolation, now=self.now, seed=self._recipe.seed, mutate=False),
            today=self.today,
            state=self.state,
        )
        await self._all(log)
        report.verdicts = self._verdicts
        files = [self._file(draft) for draft in report.accepted]
        report.scenarios = sum(len(one.forms) for one in files)
        is_whole = bool(files) and self.replaces is None  # else those of earlier sessions, and their log, stay
        named = self.replaces if self.replaces and report.accepted else {}
        refused = [named[one.draft] for one in report.losses if one.draft in named and one.is_unwanted]
        report.saved = self.store.save_scenarios(files, review=self._recipe.review, whole=is_whole, refused=refused)
        if is_whole:
            self.store.finish(log)
        elif self.replaces is None:
            report.left = self.store.count_open()
        return report

    async def _all(self, log: DraftLog) -> None:
        """Take drafts until there are as many scenarios as asked for, no draft is left, or there is no hope."""
        report, known = self._report, log.read()
        most = _MORE * report.wanted + _SPARE
        async with aclosing(_generator(self.source)) as drafts:
            with closing(log.open()) as lines:
                while (missing := report.wanted - len(report.accepted)) > 0 and not report.stopped:
                    size = min(missing, CONCURRENT if self._has_model else self.at_once)
                    taken = [one for _ in range(size) if (one := await anext(drafts, None)) is not None]
                    for one in await self._round(taken, known, lines):
                        self._note(one)
                    if not taken:
                        report.stopped = "the source has no further drafts (ask for fewer, or give it more to work on)"
                    elif report.tried >= most:
                        report.stopped = f"{most} drafts were tried"
                    elif not report.accepted and len(report.losses) >= _HOPELESS[self._has_model]:
                        report.stopped = f"the first {len(report.losses)} drafts were all lost"

    async def _round(
        self, taken: Sequence[Draft | Loss], known: Mapping[str, Finished], log: LineLog
    ) -> Sequence[Finished]:
        """Work on drafts at the same time; what is finished is logged, in order, even where another one breaks off."""
        tasks = [asyncio.create_task(self._finished(one, known)) for one in taken]
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            for task in tasks:
                if task.done() and not task.cancelled() and task.exception() is None:
                    one = task.result()
                    if one.planned and known.get(one.id) is not one:
                        log.append(one.model_dump(mode="json", by_alias=True))
        return [task.result() for task in tasks]

    def _note(self, one: Finished) -> None:
        report = self._report
        if one.draft is not None:
            report.accepted.append(one.draft)
            self.source.accepted(one.draft)
            self.told(f"scenario {len(report.accepted)} of {report.wanted}")
        elif one.loss is not None:
            report.losses.append(one.loss)
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
            draft = self._varied(await self._worded(planned))
            draft = await self._acceptance.accept(draft, self._forms(draft), solved=self.critic is not None)
        except LostError as error:
            return Finished(id=planned.id, planned=mark, loss=error.loss(planned.id))
        return Finished(id=planned.id, planned=mark, draft=draft)

    def _forms(self, draft: Draft) -> tuple[dict[str, Any], ...]:
        return scenario_forms(draft, hashes=self._hashes, seed=self._recipe.seed)

    async def _worded(self, planned: Draft) -> Draft:
        """Give the draft its lines and people; where a model criticises them, odd lines are written anew, once."""
        brief = ConversationBrief(
            draft=planned,
            tools=self.toolset.of("assistant"),
            rows=rows_of(planned, self.state),
            earlier=tuple(one.purpose for one in self._report.accepted[-_EARLIER:] if one.purpose),
            personas=self._recipe.personas,
        )
        try:
            found = await self.wording.lines(brief)
        except UnusableAnswerError as error:
            raise LostError("wording", "the model gives no usable answer", str(error)) from None
        draft = self._guarded(planned, found)
        if self.critic is None:
            return draft
        try:
            opinion = await self.critic.review(draft, rows_of(draft, self.state))
        except UnusableAnswerError as error:
            raise LostError("critic", "the model gives no usable answer", str(error)) from None
        self._verdicts.append(opinion.why)
        if opinion.why:
            raise LostError("critic", opinion.why, opinion.detail)
        if opinion.odd and isinstance(self.wording, ModelWording):
            with suppress(LostError, UnusableAnswerError):  # the first words were odd, and right
                anew = self._guarded(planned, await self.wording.lines(brief, found, opinion.odd))
                if not (second := await self.critic.review(anew, rows_of(anew, self.state))).why:
                    draft, opinion = anew, second
        return draft.model_copy(update={"purpose": opinion.purpose, "situation": opinion.situation})

    def _guarded(self, planned: Draft, found: ConversationLines) -> Draft:
        """Give the draft these lines and people; raise `LostError` where the guard finds a fault."""
        if found.absurd:
            raise LostError("wording", "absurd", found.absurd)
        for stage, reason, fault in faults_of(found, planned, self._rules):
            if stage != "persona" or self._has_model:  # a plain persona has the values as they are
                raise LostError(stage, reason, fault)
        worded = found.of(planned, self._rules).model_copy(update={"worded_by": self.wording.name})
        if not worded.calls and not any(turn.refused for turn in worded.turns):
            raise LostError("wording", "cut to nothing")
        return worded

    def _varied(self, draft: Draft) -> Draft:
        """Give each persona after the first one modifier that fits, another one each."""
        personas = list(draft.personas[:1])
        specs = [ModifierSpec(name=name) for name in MODIFIER_NAMES]
        tools = self.toolset.of("assistant")
        for place, persona in enumerate(draft.personas[1:], start=1):
            scenario = self._acceptance.read(self._forms(draft)[place])
            fitting, _ = plan_modifiers(specs, scenario, self.state, seed=self._recipe.seed, tools=tools)
            chosen = (fitting[(place - 1) % len(fitting)].name,) if fitting else ()
            personas.append(persona.model_copy(update={"modifiers": persona.modifiers or chosen}))
        return draft.model_copy(update={"personas": tuple(personas)})

    def _file(self, draft: Draft) -> ScenarioFile:
        return ScenarioFile(
            name=scenario_id(draft),
            forms=self._forms(draft),
            notes=notes_of(draft, self.suite.path.name),
            replaces=(self.replaces or {}).get(draft.id, ""),
        )


async def _generator(source: Source) -> Any:
    async for one in source.drafts():
        yield one
