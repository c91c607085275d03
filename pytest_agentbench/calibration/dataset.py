"""Labelled conversations: their 26 situations, the files they are in, and what a model is shown of one.

A label is derived from four dimensions (TRACE §2.1 and appendix G). Eight of their twelve combinations are plausible;
others are refused. Superfluous, skipped and misread calls that nobody notices count as tool use gone wrong by the
agent, which is how the catalogue arrives at eight.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any, Literal, Self

from pydantic import SerializerFunctionWrapHandler, ValidationError, model_serializer, model_validator

from pytest_agentbench.checks.judges.evidence import Evidence, Goal
from pytest_agentbench.checks.judges.rubric_judge import Manner
from pytest_agentbench.checks.judges.signals import Shown, Signal, shown_of, signals_of
from pytest_agentbench.core.base import Model
from pytest_agentbench.core.codec import digest, dumps, loads
from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.files import write_atomic
from pytest_agentbench.core.policy import Policy
from pytest_agentbench.core.rubric import Label, Sees
from pytest_agentbench.core.run import Run, RunKey
from pytest_agentbench.core.scenario import Scenario, Task
from pytest_agentbench.core.state import State
from pytest_agentbench.core.termination import Termination
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.core.transcript import Message, Transcript
from pytest_agentbench.environment.schema_tools import read_schema_tools
from pytest_agentbench.llm.templates import Templates
from pytest_agentbench.messages.reader import read

ToolExecution = Literal["correct", "agent", "tool"]
"""correct; incorrect by the agent's misuse; incorrect by the tool."""

Behaviour = Literal["appropriate", "inappropriate"]
Satisfaction = Literal["satisfied", "dissatisfied"]

Bucket = Literal["easy", "hard", "dissatisfied-yet-appropriate"]
"""hard: satisfied yet NEG. dissatisfied-yet-appropriate: neither easy nor hard. easy: satisfaction tells the label."""


class Situation(Model):
    """One situation; each `..._reason` says why its dimension has the value, `means` what decides an ambiguous one.

    It is played by `moves`, struck by `fault`; what the user `asks` for, if not the scenario's request, is cut short or
    will be refused; the user `closes` with a phrase. What it `holds` is checked.
    Refused where the combination is not plausible.
    """

    id: str
    tool: ToolExecution
    agent: Behaviour
    user: Satisfaction
    details: str
    tool_reason: str
    agent_reason: str
    user_reason: str
    means: str = ""
    moves: tuple[str, ...]
    closes: str = ""
    fault: str = ""
    asks: Literal["", "cut", "refused"] = ""
    holds: tuple[str, ...]

    @property
    def dimensions(self) -> tuple[str, ...]:
        """How tools, agent and user were."""
        return self.tool, self.agent, self.user

    @property
    def label(self) -> Label:
        """Whether the conversation is desirable overall: POS where all three are right.

        That an appropriate agent with a dissatisfied user is NEG follows from table 3: a judge of satisfaction alone
        has a recall of 1.00 on POS there, so no POS conversation has a dissatisfied user.
        """
        return plausible()[self.dimensions][0]

    @property
    def bucket(self) -> Bucket:
        """How far the user's satisfaction tells the label."""
        return plausible()[self.dimensions][1]

    @property
    def agent_at_fault(self) -> bool:
        """Whether the agent is to blame: not where a tool failed and the agent did what could be done."""
        return self.agent == "inappropriate"

    @property
    def reason(self) -> str:
        """Why it has its label."""
        return f"tools: {self.tool_reason}; agent: {self.agent_reason}; user: {self.user_reason}"

    @property
    def text(self) -> str:
        """It in words: what happens, and what of tools, agent and user."""
        decides = f"\nWhat decides: {self.means}" if self.means else ""
        return (
            f"{self.details}\nTools ({self.tool}): {self.tool_reason}.\nAgent ({self.agent}): {self.agent_reason}.\n"
            f"User ({self.user}): {self.user_reason}.{decides}"
        )

    @model_validator(mode="after")
    def _is_plausible(self) -> Self:
        if self.dimensions not in plausible():
            allowed = ", ".join(map("/".join, plausible()))
            raise ValueError(
                f"tool, agent and user do not go together: {'/'.join(self.dimensions)}; allowed: {allowed}"
            )
        return self


@cache
def data(name: str) -> dict[str, Any]:
    """Read a data file of calibration."""
    return tomllib.loads((files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def plausible() -> dict[tuple[str, ...], tuple[Label, Bucket]]:
    """Give label and bucket of the combinations of dimensions that go together (TRACE §2.1)."""
    return {tuple(dimensions): (label, bucket) for *dimensions, label, bucket in data("situations")["plausible"]}


@cache
def situations() -> dict[str, Situation]:
    """Give the catalogue by id, in its order."""
    return {one["id"]: Situation.model_validate(one) for one in data("situations")["situation"]}


TRANSCRIPTS = "transcripts.jsonl"
STATES = "states.json"
"""States by their hash: many conversations begin in the same one."""
TOOLS = "tools.json"

Grade = Literal["gold", "silver"]
"""gold: verified by a person, or by code against the gold log. silver: let through by a model."""

Wording = Literal["plain", "model"]
"""plain: the phrases of a data file. model: written around the calls by a model, and guarded by code."""

Target = Literal["overall", "agent"]
"""What a judge is held against: the label of the paper, or whether the agent is at fault."""


class Case(Model):
    """What a judge may read of a conversation: what was said and called, the tools, and the state before and after.

    `briefing` is what the agent was told beforehand, its system messages. The states are None where there is none to
    read. `goal` is shown to a judge that sees the goal, None where nobody wrote it down.
    """

    transcript: Transcript
    briefing: str = ""
    toolset: Toolset = Toolset()
    initial: State | None = None
    final: State | None = None
    goal: Goal | None = None

    @model_serializer(mode="wrap")
    def _without_what_is_empty(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out briefing and goal where there are none: the digest of a case is then what it was before them."""
        form: dict[str, Any] = plain(self)
        return {name: value for name, value in form.items() if value or name not in ("briefing", "goal")}

    @property
    def run(self) -> Run:
        """The conversation as a run that checks and judges can read; its goal's policies are numbered."""
        goal = self.goal or Goal()
        return Run(
            key=RunKey(suite="", scenario="labelled"),
            scenario=Scenario(id="labelled", title="labelled", task=Task(id="labelled", ticket=goal.wants or None)),
            policies=tuple(Policy(id=f"policy-{number}", text=text) for number, text in enumerate(goal.policies, 1)),
            transcript=self.transcript,
            termination=Termination.FINISHED,
            toolset=self.toolset,
            initial_state=self.initial,
            final_state=self.final,
        )


class GoldCall(Model):
    """A call of the right run, with what it gave."""

    name: str
    arguments: dict[str, Any] = {}
    result: str = ""


class Labelled(Case):
    """A conversation with its labels: `label` is the paper's, `agent_at_fault` says whether the agent is to blame.

    `situation` is "" where it comes from elsewhere, `faults` what was injected, `gold` the calls of a right run.
    `grade` and `wording` are "" where it was not made here: the team labelled it. What a `Case` has not is the
    teacher's: no judge reads it.
    """

    id: str
    label: Label
    agent_at_fault: bool
    situation: str = ""
    stated_bucket: Bucket | Literal[""] = ""
    language: str = ""
    scenario: str = ""
    faults: tuple[str, ...] = ()
    grade: Grade | Literal[""] = ""
    wording: Wording | Literal[""] = ""
    gold: tuple[GoldCall, ...] = ()
    reason: str = ""

    @classmethod
    def of(cls, situation: Situation, **fields: Any) -> Self:
        """Give a conversation of a situation, labelled as that is."""
        blame, why = situation.agent_at_fault, situation.reason
        return cls(situation=situation.id, label=situation.label, agent_at_fault=blame, reason=why, **fields)

    @property
    def is_own(self) -> bool:
        """Whether the team labelled it, and no command of ours."""
        return not self.grade

    @property
    def bucket(self) -> Bucket | Literal[""]:
        """How far the user's satisfaction tells the label, as was stated or as the situation has it; else ""."""
        found = situations().get(self.situation)
        return self.stated_bucket or (found.bucket if found else "")

    def wanted(self, target: Target) -> Label:
        """Give the label that a judge is held against."""
        return self.label if target == "overall" else "NEG" if self.agent_at_fault else "POS"


class Folder(Model):
    """Labelled conversations as read; `tools` are those of the environment."""

    cases: tuple[Labelled, ...]
    inexpressible: dict[str, str] = {}

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a folder that `write` wrote, or one file of JSON lines; raise `SuiteError` naming the line.

        Tools may stand there as `read_schema_tools` reads them too; it raises `EnvironmentFaultError`.
        """
        folder, file = (path, path / TRANSCRIPTS) if path.is_dir() else (path.parent, path)
        states, tools = _json(folder / STATES), _json(folder / TOOLS)
        is_ours = isinstance(tools, dict) and (not tools or "specs" in tools)
        number, rows = 0, list[Labelled]()
        try:
            specs = tools.get("specs", []) if is_ours else read_schema_tools(folder / TOOLS)
            toolset = Toolset.model_validate({"specs": specs})
            for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
                rows += [_labelled(loads(text), number, states, toolset)] if text.strip() else []
        except OSError as error:
            raise _refused(file, f"it cannot be read: {error.strerror}") from error
        except (ValidationError, ValueError, KeyError, TypeError, AttributeError) as error:
            what = "no labelled conversation" if number else "it holds no labelled conversations"
            raise _refused(file, f"{what}: {shorten(printable(str(error)), 300)}", number) from error
        if not rows:
            raise _refused(file, "it holds no conversation")
        return cls(cases=tuple(rows), inexpressible=tools.get("inexpressible", {}) if is_ours else {})

    def write(self, folder: Path) -> None:
        """Write conversations, states and tools, each whole or not at all."""
        known = [state for one in self.cases for state in (one.initial, one.final)]
        states = {_mark(state): state for state in known if state is not None}
        specs = self.cases[0].toolset.model_dump(mode="json")["specs"] if self.cases else []
        write_atomic(folder / STATES, dumps(states) + "\n")
        write_atomic(folder / TOOLS, dumps({"specs": specs, "inexpressible": self.inexpressible}, indent=1) + "\n")
        write_atomic(folder / TRANSCRIPTS, "".join(f"{dumps(_row(one))}\n" for one in self.cases))


def read_all(paths: Sequence[Path]) -> tuple[Labelled, ...]:
    """Read several folders or files; where there are several, ids begin with the folder's name."""
    found: list[Labelled] = []
    for path in paths:
        cases = Folder.read(path).cases
        found += (one.model_copy(update={"id": f"{path.stem}/{one.id}"}) for one in cases) if paths[1:] else cases
    return tuple(found)


def _row(one: Labelled) -> dict[str, Any]:
    found = situations().get(one.situation)
    briefing = [Message(role="system", content=one.briefing)] if one.briefing else []
    return {
        "key": {"scenario": one.scenario or one.id},
        **one.model_dump(mode="json", exclude={*Case.model_fields, "scenario", "stated_bucket"}),
        "bucket": one.bucket,
        "dimensions": found.model_dump(include={"tool", "agent", "user"}) if found else {},
        "termination": "FINISHED",
        "stop_reason": "done",
        "messages": [
            each.model_dump(mode="json", exclude_defaults=True) for each in (*briefing, *one.transcript.messages)
        ],
        "initial": _mark(one.initial),
        "final": _mark(one.final),
        **({"goal": one.goal.model_dump(mode="json")} if one.goal else {}),
    }


def _mark(state: State | None) -> str | None:
    return None if state is None else digest(state)


def _labelled(row: dict[str, Any], number: int, states: Mapping[str, State], toolset: Toolset) -> Labelled:
    try:
        messages = [Message.model_validate(message) for message in row["messages"]]
    except ValidationError:  # they are not as we write them
        messages = read(row["messages"])
    key, known = row.get("key") or {}, situations().get(row.get("situation", ""))
    return Labelled(
        **{
            "agent_at_fault": row["label"] == "NEG" and (known is None or known.agent_at_fault),
            "stated_bucket": row.get("bucket", "") if known is None or row.get("bucket") != known.bucket else "",
            "scenario": key.get("scenario", "") if isinstance(key, dict) else str(key),
            **{name: row[name] for name in Labelled.model_fields.keys() & row.keys()},
            "id": str(row.get("id") or number),
            "transcript": Transcript(messages=tuple(one for one in messages if one.role != "system")),
            "briefing": "\n".join(one.text for one in messages if one.role == "system"),
            "toolset": toolset,
            "initial": states[row["initial"]] if row.get("initial") else None,
            "final": states[row["final"]] if row.get("final") else None,
            "goal": row.get("goal") or None,
        }
    )


def _json(path: Path) -> Any:
    try:
        return loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise _refused(path, f"it cannot be read: {error}") from error


def _refused(path: Path, message: str, line: int = 0) -> SuiteError:
    hint = "`agentbench situations SUITE --into FOLDER` writes such files"
    return SuiteError([Problem(file=path, line=line, message=message, hint=hint)])


PROMPTS = Templates("pytest_agentbench.calibration")
WORDS = data("prompts/words")
"""Words that fill the prompts: what the labels mean, how users write, and what some situations add."""

DIVERSE, CLEAR_CUT, INVENTIVE = (Manner(PROMPTS, temperature) for temperature in (0.7, 0.0, 1.0))
"""How area discovery and supervised extraction are asked, all else (SCOPE, appendix C.2), and what writes conversations
(TRACE, B.1, for Claude)."""


def seeded(seed: int, *parts: object) -> Random:
    """Give the randomness of one question: the same whatever else is asked, and in which order."""
    return Random("/".join(map(str, (seed, *parts))))  # noqa: S311 - draws conversations and nonces


def signals(case: Case) -> tuple[Signal, ...]:
    """Give all signals of a conversation, those of the notes on calls first."""
    return signals_of(case.run, system=case.briefing, expected=case.goal.changes if case.goal else ())


def shown(case: Case, evidence: Shown = "none", sees: Sees = "conversation") -> Evidence:
    """Give what a model sees of a conversation: what was said and called, and what code knows of it besides.

    Raise `ValueError` where it is to see the goal and there is none.
    """
    if sees == "goal" and case.goal is None:
        raise ValueError("the conversation has no goal")
    goal, expected = case.goal if sees == "goal" else None, case.goal.changes if case.goal else ()
    return shown_of(case.run, evidence, goal=goal, system=case.briefing, expected=expected)
