"""Acceptance: a scenario is written only if it is decidable; this says so, or gives the loss with its reason."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.generation.draft import Draft, Loss, Stage
from pytest_agentbench.runs.plan import RunPlan
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.scenario_form import form_to_scenario
from pytest_agentbench.validation.scenario import Shared, validate_scenario

_DETAIL = 300


class LostError(Exception):
    """A draft became no scenario."""

    def __init__(self, draft: Draft, stage: Stage, reason: str, detail: str = "") -> None:
        super().__init__(f"{stage}: {reason}: {detail}")
        told = shorten(printable(detail), _DETAIL)
        self.loss = Loss(draft=draft.id, stage=stage, reason=reason, detail=told)


@dataclass(kw_only=True)
class Acceptance:
    """What drafts are held against: the suite with its rules, its tools, today's date (injected), one shared world."""

    suite: Suite
    toolset: Toolset
    shared: Shared
    today: date
    notes: list[str] = field(default_factory=list)

    async def accept(self, draft: Draft, forms: Sequence[dict[str, JsonValue]]) -> Draft | Loss:
        """Give the draft with its policies' handling and its notes, or why it is lost."""
        try:
            for form in forms:
                scenario = self.read(draft, form)
                await self._validated(draft, self.plan(scenario))
        except LostError as error:
            return error.loss
        return draft

    def read(self, draft: Draft, form: dict[str, JsonValue]) -> Scenario:
        """Read a form as a suite would; raise `LostError` where it is no scenario, or names what is not there."""
        found = form_to_scenario(form, ())
        if isinstance(found, list):
            raise LostError(draft, "assembly", "not a scenario", "; ".join(str(one) for one in found[:3]))
        scenario = found.model_copy(update={"file": str(self.suite.path)})
        alone = self.suite.model_copy(update={"scenarios": (scenario,), "policies": ()})
        if problems := check_calls(alone, self.toolset):
            raise LostError(draft, "assembly", "a call that cannot be made", str(problems[0]))
        return scenario

    def plan(self, scenario: Scenario, suite: Suite | None = None) -> RunPlan:
        """Give the plan of a run of one scenario."""
        alone = (suite or self.suite).model_copy(update={"scenarios": (scenario,)})
        variant = next(iter(alone.variants), "")
        return RunPlan(suite=alone, suite_key=str(alone.path), scenario=scenario, variant=variant, toolset=self.toolset)

    async def _validated(self, draft: Draft, plan: RunPlan) -> None:
        """Ask what `agentbench validate` asks of one scenario; mutants are left to that command."""
        report = await validate_scenario(plan, self.shared)
        if not report.is_valid:
            issue = report.issues[0]
            raise LostError(draft, "acceptance", issue.kind, issue.message)
