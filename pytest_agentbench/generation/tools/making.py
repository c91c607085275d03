"""One walk becomes one scenario: hydrated, criticised, given a persona, assembled, validated; or is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.modifier import ModifierSpec
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.recipe import Hashes
from pytest_agentbench.generation.tools.recruiting.stock import Stock
from pytest_agentbench.generation.tools.roles import Roles
from pytest_agentbench.generation.tools.stories.assembly import scenario_form, scenario_id
from pytest_agentbench.generation.tools.stories.critic import CriticGiven, Critique, story_faults, summary_faults
from pytest_agentbench.generation.tools.stories.history import IMPLAUSIBLE, LAST, History
from pytest_agentbench.generation.tools.stories.hydration import ATTEMPTS, PATIENCE, hydrate
from pytest_agentbench.generation.tools.stories.persona import CANDIDATES, PersonaGiven, identity, persona_faults
from pytest_agentbench.generation.tools.stories.telling import HydrationError, WordingError
from pytest_agentbench.generation.tools.values import Persona, Rejection, Story, Walk
from pytest_agentbench.generation.tools.wording.tongue import Code
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.scenario_form import form_to_scenario
from pytest_agentbench.users.modifiers.plan import plan as plan_modifiers
from pytest_agentbench.validation.scenario import Shared, validate_scenario

_AGAIN = 3
"""Times that a critic or a writer is asked, with what was wrong with its last answer."""
_TOLD = 2
"""Times that a walk is told where the critic does not believe it and a model is the narrator."""


class RejectedError(Exception):
    """A walk became no scenario."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(f"{rejection.stage}: {rejection.reason}: {rejection.detail}")
        self.rejection = rejection


@dataclass(frozen=True, kw_only=True)
class Made:
    """An accepted scenario: its story, and its forms, one for each persona."""

    story: Story
    forms: tuple[dict[str, JsonValue], ...]


@dataclass(kw_only=True)
class Maker:
    """Makes scenarios of walks; `history` holds what was refused so far, for whoever writes next."""

    suite: Suite
    toolset: Toolset
    stock: Stock
    roles: Roles
    hashes: Hashes
    shared: Shared
    seed: int
    personas: int = 1
    state: State | None = None
    history: History = field(default_factory=History)

    async def make(self, walk: Walk, language: Code) -> Made:
        """Give the scenario of a walk; raise `RejectedError`, and what a model's access raises."""
        random = Random(f"{self.seed}/{walk.id}")  # noqa: S311 - a choice, no secret
        story = await self._believed(walk, language, random)
        story = await self._inhabited(story, random)
        return Made(story=story, forms=await self._assembled(story))

    async def _believed(self, walk: Walk, language: Code, random: Random) -> Story:
        """Give a story that the critic accepts; what it does not believe is told once more, with its reason."""
        for again in range(_TOLD):
            story = await self._hydrated(walk, language, random)
            try:
                return await self._criticised(story, random)
            except RejectedError as error:
                if again + 1 == _TOLD or error.rejection.reason != IMPLAUSIBLE or not self.roles.player("narrator"):
                    raise
        raise AssertionError("the last time returns or raises")

    async def _hydrated(self, walk: Walk, language: Code, random: Random) -> Story:
        try:
            return await hydrate(
                walk,
                self.stock,
                self.roles.narrator(random),
                language=language,
                random=random,
                history={name: faults[-LAST:] for name, faults in self.history.narrator.items()},
                critique=self.history.critique[-LAST:],
                attempts=ATTEMPTS if self.roles.player("narrator") else PATIENCE,
                usage=self.history.usage,
            )
        except HydrationError as error:
            operation = error.operation if isinstance(error, WordingError) else ""
            raise self._rejected(walk, "hydration", error.reason, error.detail, operation=operation) from None

    async def _criticised(self, story: Story, random: Random) -> Story:
        faults = story_faults(story, self.stock.pool, self.stock.cards)
        if faults:
            raise self._rejected(story.walk, "critic", faults[0].reason, faults[0].detail)
        critic = self.roles.critic(random)
        told: tuple[str, ...] = ()
        for _ in range(_AGAIN):
            given = CriticGiven(
                story=story, cards=self.stock.cards, history=tuple(self.history.critic[-LAST:]), faults=told
            )
            critique: Critique = await critic(given)
            if not critique.is_coherent:
                raise self._rejected(story.walk, "critic", IMPLAUSIBLE, critique.reason)
            wrong = summary_faults(critique, story, self.stock.cards)
            if not wrong:
                texts = {"summary": critique.summary.strip(), "initial_situation": critique.initial_situation.strip()}
                return story.model_copy(update=texts)
            told = tuple(str(fault) for fault in wrong)
        raise self._rejected(story.walk, "critic", wrong[0].reason, wrong[0].detail)

    async def _inhabited(self, story: Story, random: Random) -> Story:
        writer = self.roles.writer(random)
        personas: list[Persona] = []
        for _ in range(self.personas):
            name, manner = identity(random, story.language)
            told = tuple(self.history.persona[-LAST:])
            for _ in range(_AGAIN):
                given = PersonaGiven(story=story, cards=self.stock.cards, name=name, manner=manner, faults=told)
                persona = await writer(given)
                wrong = persona_faults(persona, story, self.stock.cards, name)
                if not wrong:
                    break
                told = tuple(str(fault) for fault in wrong)
            else:
                raise self._rejected(story.walk, "persona", wrong[0].reason, wrong[0].detail)
            personas.append(persona)
        return story.model_copy(update={"personas": tuple(personas)})

    async def _assembled(self, story: Story) -> tuple[dict[str, JsonValue], ...]:
        forms: list[dict[str, JsonValue]] = []
        for place, persona in enumerate(story.personas):
            name = scenario_id(story) + (f"-p{place + 1}" if place else "")
            form = scenario_form(story, persona, self.stock.cards, name=name, hashes=self.hashes, seed=self.seed)
            scenario = self._read(story, form)
            if fitting := self._modifiers(scenario, place):
                form = scenario_form(
                    story,
                    persona.model_copy(update={"modifiers": fitting}),
                    self.stock.cards,
                    name=name,
                    hashes=self.hashes,
                    seed=self.seed,
                )
                scenario = self._read(story, form)
            await self._validated(story, scenario)
            forms.append(form)
        return tuple(forms)

    def _read(self, story: Story, form: dict[str, JsonValue]) -> Scenario:
        found = form_to_scenario(form, ())
        if isinstance(found, list):
            raise self._rejected(story.walk, "assembly", "not a scenario", "; ".join(str(one) for one in found[:3]))
        return found.model_copy(update={"file": str(self.suite.path)})

    def _modifiers(self, scenario: Scenario, place: int) -> tuple[str, ...]:
        """Give one modifier that fits, another one for each further persona; the first persona has none."""
        if not place:
            return ()
        specs = [ModifierSpec.model_validate(name) for name in CANDIDATES]
        tools = self.toolset.of("assistant")
        fitting, _ = plan_modifiers(specs, scenario, self.state, seed=self.seed, tools=tools)
        names = [behaviour.name for behaviour in fitting]
        return (names[(place - 1) % len(names)],) if names else ()

    async def _validated(self, story: Story, scenario: Scenario) -> None:
        """Ask what `agentbench validate` asks of one scenario; wrong runs are left to that command."""
        alone = self.suite.model_copy(update={"scenarios": (scenario,)})
        problems = check_calls(alone.model_copy(update={"policies": ()}), self.toolset)
        if problems:
            raise self._rejected(story.walk, "validation", "static", str(problems[0]))
        variant = next(iter(alone.variants), "")
        plan = RunPlan(suite=alone, suite_key=str(alone.path), scenario=scenario, variant=variant, toolset=self.toolset)
        report = await validate_scenario(plan, self.shared)
        if not report.is_valid:
            issue = report.issues[0]
            raise self._rejected(story.walk, "validation", issue.kind, issue.message)

    def _rejected(self, walk: Walk, stage: str, reason: str, detail: str, *, operation: str = "") -> RejectedError:
        told = shorten(printable(detail), 300)
        rejection = Rejection.model_validate(
            {"walk": walk.id, "stage": stage, "operation": operation, "reason": reason, "detail": told}
        )
        self.history.note(rejection)
        return RejectedError(rejection)


def languages_of(asked: Sequence[Code], described: Code, *, has_model: bool) -> tuple[Code, ...]:
    """Give the users' languages; raise `SuiteFaultError` for one into which only a model could translate."""
    if not asked:
        return (described,)
    other = [code for code in asked if code != described]
    if other and not has_model:
        names: Mapping[Code, str] = {"en": "English", "fr": "French"}
        raise SuiteFaultError(
            f"generate.languages: users are to speak {names[other[0]]}, and the tools are described in "
            f"{names[described]} (leave `languages` out, or let a model play the narrator with `llm`)"
        )
    return tuple(dict.fromkeys(asked))
