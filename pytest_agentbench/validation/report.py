"""What validation found, as values: per scenario and for the suite."""

from collections.abc import Sequence
from typing import Any, Literal, Self

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.scenario import Scenario

Kind = Literal["static", "id", "replay", "oracle", "vacuous", "unreachable", "mutants"]
"""What a problem is about, in the order in which the questions are asked."""

Mode = Literal["played", "calls"]
"""played: calls are made against the suite's environment. calls: they cannot be, so calls alone are judged."""

Operator = Literal[
    "drop", "swap", "wrong argument", "invented value", "extra write", "wrong order", "false claim", "wrong statement",
]  # fmt: skip
"""How a mutant differs from a right run."""


class Issue(Model):
    """One thing that is wrong with a scenario; the names of what it is about stand in `about`."""

    kind: Kind
    message: str
    about: str = ""


def passed_by(agents: Sequence[str]) -> Issue:
    """Say which weak agents pass a scenario."""
    return Issue(kind="vacuous", message=f"an agent passes that {' and one that '.join(agents)}")


class Mutant(Model):
    """A wrong run that was not told from a right one: what was changed in it, and how the conversation went."""

    operator: Operator
    change: str
    conversation: tuple[str, ...] = ()


class Skipped(Model):
    """A question that could not be asked, and why."""

    what: str
    why: str


RIGHT_RUN = "a right run"
"""The question that is left out alone where nobody can make the calls that rules ask for."""


class ScenarioReport(Model):
    """What is known of one scenario.

    `left_open` names the arguments of expected writes whose values the scenario does not state.
    `vacuous` names the weak agents that pass it, which is nothing wrong where `is_refusal` says that it forbids
    something and wants nothing changed. `values` counts the argument values that were traced, `derived` those
    that follow by a rule, `undecided` those that only a tool that cannot be run could give. `added` are calls that the
    oracle made beside the expected ones, because rules of policies ask for them. `mutants` were judged, `equivalent`
    ones are not among them; `survivors` are those that passed.
    """

    id: str
    title: str
    file: str = ""
    line: int = 0
    mode: Mode = "played"
    issues: tuple[Issue, ...] = ()
    left_open: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    oracle: bool | None = None
    added: tuple[str, ...] = ()
    vacuous: tuple[str, ...] = ()
    is_refusal: bool = False
    values: int = 0
    derived: int = 0
    undecided: tuple[str, ...] = ()
    mutants: int = 0
    equivalent: int = 0
    operators: dict[str, tuple[int, int]] = {}
    survivors: tuple[Mutant, ...] = ()

    @classmethod
    def of(cls, scenario: Scenario, **found: Any) -> Self:
        """Give the report of a scenario under its name and place."""
        return cls(id=scenario.id, title=scenario.title, file=scenario.file, line=scenario.line, **found)

    @property
    def was_asked(self) -> bool:
        """Whether the questions were asked that need calls to be written, if not how a right run is judged."""
        return self.oracle is not None or any(one.what == RIGHT_RUN for one in self.skipped)

    @property
    def caught(self) -> int:
        """The number of mutants that failed, as they should."""
        return self.mutants - len(self.survivors)

    @property
    def is_valid(self) -> bool:
        """Whether nothing is wrong with the scenario."""
        return not self.issues


class SuiteReport(Model):
    """What is known of a suite; `problems` are about the suite itself, `skipped` about all of its scenarios.

    `unlabelled` are lines of scripted users that do not say what they mean, each with its place; that is no problem.
    `unfit` are conditions of rules with a misspelt key of a result or state, each with its place, `unseen` those with a
    key that no result of a right run has, which is no problem; of a part of the scenarios none are known.
    """

    name: str
    path: str
    seed: int = 0
    problems: tuple[str, ...] = ()
    unfit: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    unlabelled: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    scenarios: tuple[ScenarioReport, ...] = ()
    seconds: float = 0.0

    @property
    def mutants(self) -> int:
        """The number of mutants that were judged."""
        return sum(scenario.mutants for scenario in self.scenarios)

    @property
    def mutation_score(self) -> float | None:
        """Caught mutants / mutants judged over all scenarios; None where none was judged."""
        return sum(scenario.caught for scenario in self.scenarios) / self.mutants if self.mutants else None

    @property
    def vacuous(self) -> tuple[str, ...]:
        """The ids of the scenarios that a weak agent passes and should not."""
        return tuple(scenario.id for scenario in self.scenarios if scenario.vacuous and not scenario.is_refusal)

    @property
    def is_valid(self) -> bool:
        """Whether nothing is wrong with the suite or a scenario; the mutation score is another question."""
        return not (self.problems or self.unfit) and all(scenario.is_valid for scenario in self.scenarios)
