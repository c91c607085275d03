"""Which modifiers fit a scenario, and what each of them comes to there."""

from collections.abc import Callable, Iterable, Sequence
from random import Random

from pytest_agentbench.core.modifier import ModifierName, ModifierSpec
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.state import State
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.users.modifiers.added import adds_intent
from pytest_agentbench.users.modifiers.behaviour import Behaviour
from pytest_agentbench.users.modifiers.forgotten import forgets_identifier
from pytest_agentbench.users.modifiers.manner import impatient, out_of_scope
from pytest_agentbench.users.modifiers.records import Records
from pytest_agentbench.users.modifiers.scene import Scene
from pytest_agentbench.users.modifiers.spelling import normal
from pytest_agentbench.users.modifiers.swapped import changes_mind, wrong_value_first
from pytest_agentbench.users.phrases import LANGUAGES, Language, language_of

_FITS: dict[ModifierName, Callable[[ModifierSpec, Scene, Random], Behaviour | str]] = {
    "forgets_identifier": forgets_identifier,
    "wrong_value_first": wrong_value_first,
    "changes_mind": changes_mind,
    "adds_intent": adds_intent,
    "impatient": impatient,
    "out_of_scope": out_of_scope,
}


def plan(
    specs: Iterable[ModifierSpec],
    scenario: Scenario,
    state: State | Records | None = None,
    *,
    seed: int | Random = 0,
    language: str = "",
    tools: Sequence[ToolSpec] | None = None,
) -> tuple[tuple[Behaviour, ...], dict[str, str]]:
    """Give the behaviours of a scenario in the order asked for, and why each other modifier does not fit, by name.

    `state` is the initial state, the scenario's own part included (a `Records` may be shared by scenarios of equal
    state); None where it cannot be read. `language` is `en` or `fr`, "" takes that of the scenario's texts. `tools` are
    the agent's. Equal arguments give equal behaviours; each modifier draws on its own, whatever else is asked for,
    and none touches a value that one before it has changed.
    """
    salt = seed.getrandbits(64) if isinstance(seed, Random) else seed
    records = state if isinstance(state, Records) else Records(state)
    chosen: list[Behaviour] = []
    skipped: dict[str, str] = {}
    taken: set[str] = set()
    for spec in specs:
        if spec.name != "adds_intent" and any(behaviour.name == spec.name for behaviour in chosen):
            skipped[spec.name] = "it is asked for twice"
            continue
        spoken = _language(language, scenario)
        scene = Scene(scenario, records, spoken, tools, frozenset(taken))
        nth = len(chosen) if spec.name == "adds_intent" else 0
        rng = Random(f"{salt}/{scenario.id}/{spec.name}/{nth}")  # noqa: S311 - a choice, no secret
        found = _FITS[spec.name](spec, scene, rng)
        if isinstance(found, str):
            skipped[spec.name] = found
            continue
        chosen.append(found)
        taken.update(map(normal, found.forgets))
        taken.update(normal(value) for swap in found.wrong for value in (swap.first, swap.right))
    return tuple(chosen), skipped


def _language(code: str, scenario: Scenario) -> Language:
    if code:
        return next(language for language in LANGUAGES if language.code == code)
    return language_of(Scene(scenario, Records(None), LANGUAGES[0]).texts)
