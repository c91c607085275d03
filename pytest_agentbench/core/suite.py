"""Suites: an agent, an environment, a simulated user, scenarios, limits and gates, as `agentbench.yaml` states them."""

from pathlib import Path
from typing import Any, Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.core.termination import Limits


class AgentSpec(Model):
    """Where the agent comes from.

    `factory`: import path called once per run. `callable`: import path of a plain reply function.
    `transcripts`: files of recorded conversations, scored without running anything. `serial` runs one at a time.
    """

    kind: Literal["factory", "callable", "transcripts"]
    target: str = ""
    files: tuple[Path, ...] = ()
    serial: bool = False


class ToolsSpec(Model):
    """Where tools come from: `python` is executed anew per run, `schema` is a file that only describes them."""

    kind: Literal["python", "schema"]
    target: str


class StateSpec(Model):
    """Where state comes from: `sqlite`, `json`, or the import path of a state provider (`own`).

    `options` are the provider's own; `ignore` are path patterns (`orders.*.updated_at`) left out of comparisons.
    """

    kind: Literal["sqlite", "json", "own"]
    options: dict[str, Any] = {}
    ignore: tuple[str, ...] = ()


class EnvironmentSpec(Model):
    """Tools and state; each is optional. `reads` and `writes` settle what a tool does where it does not say."""

    tools: ToolsSpec | None = None
    user_tools: ToolsSpec | None = None
    state: StateSpec | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class Suite(Model):
    """A suite file, read and checked. `root` is the folder that import and file paths resolve from.

    `variants` maps a name to the keywords of the factory; it is empty where the suite declares none.
    `secrets` are the values of `${VAR}`s, redacted wherever they would be written. `trials` is None when not declared.
    """

    name: str
    path: Path
    root: Path
    agent: AgentSpec
    variants: dict[str, dict[str, Any]] = {}
    environment: EnvironmentSpec = EnvironmentSpec()
    user: Literal["scripted"] = "scripted"
    policies: tuple[Policy, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    limits: Limits = Limits()
    gates: tuple[str, ...] = ()
    trials: int | None = None
    context: dict[str, Any] = {}
    secrets: tuple[str, ...] = ()
    content_hash: str = ""
