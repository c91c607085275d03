"""IntellAgent's files as our values: policy graphs, events, dialogues and results, and what each of them lacks."""

from typing import Any

from pytest_agentbench.core.base import Model


class ForeignPolicy(Model):
    """A policy as an event or a result names it; `score` is its challenge there."""

    text: str
    flow: str = ""
    score: int | None = None
    category: str = ""


class ForeignGraph(Model):
    """A policy graph: `edges` are two positions in `policies` and a weight from 0 to 10; a missing one weighs 0."""

    policies: tuple[ForeignPolicy, ...] = ()
    edges: tuple[tuple[int, int, float], ...] = ()


class ForeignEvent(Model):
    """An event as it was shipped: `level` is its stored challenge level, `database` its rows by table.

    `scenario` is what the user was told, `description` what the scenario was made from.
    """

    id: str
    level: int | None = None
    policies: tuple[ForeignPolicy, ...] = ()
    description: str = ""
    expected_behaviour: str = ""
    scenario: str = ""
    database: dict[str, list[dict[str, Any]]] = {}
    relevant_rows: tuple[str, ...] = ()

    @property
    def policy_sum(self) -> int | None:
        """The sum of the policies' scores; None where one has none."""
        scores = [policy.score for policy in self.policies]
        return None if None in scores or not scores else sum(score or 0 for score in scores)

    @property
    def repeats_policy(self) -> bool:
        """Whether a policy stands in it twice."""
        return len({policy.text for policy in self.policies}) < len(self.policies)


class ForeignCall(Model):
    """A tool call of a dialogue; the times that IntellAgent logs are those of the whole agent turn."""

    name: str
    arguments: dict[str, Any] = {}
    output: str = ""


class ForeignDialogue(Model):
    """A dialogue; `messages` are (role, text), `stop` is the verdict of its user: SUCCESS, FAILURE or ""."""

    thread: str
    messages: tuple[tuple[str, str], ...] = ()
    thoughts: tuple[str, ...] = ()
    calls: tuple[ForeignCall, ...] = ()
    stop: str = ""


class ForeignResult(Model):
    """One line of results: `score` 1, 0 or −1 (undecided); policies by position in `policies`."""

    event: str
    thread: str = ""
    score: int | None = None
    reason: str = ""
    level: int | None = None
    tested_level: int | None = None
    policies: tuple[ForeignPolicy, ...] = ()
    exercised: tuple[int, ...] = ()
    violated: tuple[int, ...] = ()


class ForeignData(Model):
    """What one file held; `missing` says in words what it lacks or contradicts, counted."""

    file: str
    kind: str
    task: str = ""
    graph: ForeignGraph | None = None
    events: tuple[ForeignEvent, ...] = ()
    dialogues: tuple[ForeignDialogue, ...] = ()
    results: tuple[ForeignResult, ...] = ()
    missing: tuple[str, ...] = ()
