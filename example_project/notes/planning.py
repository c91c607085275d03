"""The planner and the executor: a question becomes sub-tasks, which are carried out one after the other."""

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from notes.model import Client, Wrong

Tool = Callable[..., Any]
Mode = Literal["flexible", "strict"]

MOST_SUBTASKS = 8
"""Sub-tasks of a plan at most."""

_FROM = re.compile(r"from_task_(\d+)")
_PATH = re.compile(r"(?m)^(?P<path>[^\n:]+?\.(?:md|markdown))(?::\d+: \[(?P<section>[^\]\n]*)\])?", re.IGNORECASE)


class SubTask(BaseModel):
    """One step: a call of a tool, or, without a tool, a thought about earlier results."""

    id: Annotated[int, Field(ge=1)]
    description: str = ""
    tool: str | None = None
    parameters: dict[str, Any] = {}
    dependencies: list[int] = []
    expected_outcome: str = ""

    @property
    def sources(self) -> set[int]:
        """The sub-tasks whose results its parameters take."""
        return {int(found[1]) for value in self.parameters.values() if (found := _FROM.fullmatch(str(value)))}


class Plan(BaseModel):
    """What to do for a question; no sub-tasks where the conversation already holds the answer."""

    goal: str
    subtasks: Annotated[list[SubTask], Field(max_length=MOST_SUBTASKS)] = []


class Repair(BaseModel):
    """Better parameters for a call that failed."""

    parameters: dict[str, Any]


class PlanError(Exception):
    """The model gave no valid plan, however often it was asked; the message says what was wrong."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of a sub-task."""

    task: SubTask
    text: str

    @property
    def failed(self) -> bool:
        """Whether it ended with an error."""
        return failed(self.text)


@dataclass
class Toolbox:
    """The tools by name. It counts calls, and keeps what they gave where the agent has a memory."""

    tools: Mapping[str, Tool]
    remember: bool = False
    calls: int = 0
    repeated: int = 0
    read: list[str] = field(default_factory=list)
    """Notes that were read in this conversation."""
    _given: dict[str, str] = field(default_factory=dict)

    @property
    def described(self) -> str:
        """The tools as a prompt lists them, one a line."""
        lines = []
        for name, tool in sorted(self.tools.items()):
            shown = (
                f"{one.name}={one.default!r}" if one.default is not one.empty else one.name
                for one in inspect.signature(tool).parameters.values()
            )
            lines.append(f"- {name}({', '.join(shown)}): {(inspect.getdoc(tool) or '').partition(chr(10))[0]}")
        return "\n".join(lines)

    def problems(self, task: SubTask) -> list[str]:
        """Say what is wrong with the call of a sub-task."""
        if task.tool is None:
            return []
        if task.tool not in self.tools:
            return [
                f"sub-task {task.id}: there is no tool {task.tool!r}; the tools are {', '.join(sorted(self.tools))}"
            ]
        try:
            inspect.signature(self.tools[task.tool]).bind(**task.parameters)
        except TypeError as error:
            return [f"sub-task {task.id}: {task.tool}: {error}"]
        return []

    def call(self, name: str, **arguments: Any) -> str:
        """Call a tool, or give what the same call gave before where that is remembered."""
        key = f"{name} {sorted(arguments.items())!r}"
        if self.remember and key in self._given:
            return self._given[key]
        self.calls += 1
        self.repeated += key in self._given
        text = str(self.tools[name](**arguments))
        self._given[key] = text
        if name in {"read_note", "read_section"} and not failed(text):
            path = text.partition(", lines ")[0]
            self.read += [path] if path not in self.read else []
        return text


@dataclass(frozen=True, kw_only=True)
class Planner:
    """Has the model make a plan, and sends back one that is not valid, with the reasons."""

    client: Client
    toolbox: Toolbox
    retries: int

    def plan(self, question: str, memory: str) -> Plan:
        """Give a valid plan; raise `PlanError` where none comes."""
        problems: list[str] = []
        for _ in range(self.retries + 1):
            try:
                plan = self.client.ask_for(
                    Plan,
                    "planner",
                    tools=self.toolbox.described,
                    memory=memory,
                    question=question,
                    problems="\n".join(problems) or "none",
                )
            except Wrong as error:
                problems = [str(error)]
                continue
            problems = list(self._problems(plan))
            if not problems:
                return plan
        raise PlanError("; ".join(problems))

    def _problems(self, plan: Plan) -> list[str]:
        found: list[str] = []
        seen: set[int] = set()
        for task in plan.subtasks:
            if task.id in seen:
                found.append(f"sub-task {task.id} stands there twice")
            late = sorted({*task.dependencies, *task.sources} - seen)
            found += [f"sub-task {task.id} depends on {other}, which does not come before it" for other in late]
            seen.add(task.id)
            found += self.toolbox.problems(task)
        return found


@dataclass(frozen=True, kw_only=True)
class Executor:
    """Carries out a plan and repairs failed calls; `strict` stops at the first error that stays, `flexible` goes on."""

    client: Client
    toolbox: Toolbox
    retries: int = 2
    mode: Mode = "flexible"

    def run(self, plan: Plan) -> list[Result]:
        """Carry out the sub-tasks in order."""
        results: dict[int, Result] = {}
        taken = {source for task in plan.subtasks for source in task.sources}
        for task in plan.subtasks:
            if task.tool is None and task.id not in taken:
                continue  # nobody takes its result: the answer, which is written next, does the thinking
            text = self._thought(plan, task, results) if task.tool is None else self._called(task, results)
            results[task.id] = Result(task=task, text=text)
            if failed(text) and self.mode == "strict":
                break
        return list(results.values())

    def _thought(self, plan: Plan, task: SubTask, results: Mapping[int, Result]) -> str:
        step = f"{task.description} {task.expected_outcome}".strip()
        return self.client.ask("thought", question=plan.goal, step=step, results=shown(list(results.values())))

    def _called(self, task: SubTask, results: Mapping[int, Result]) -> str:
        broken = [source for source in task.sources if source not in results or results[source].failed]
        if broken:
            return f"Error: sub-task {broken[0]} gave nothing that could be used"
        assert task.tool is not None
        name, arguments = task.tool, self._resolved(task, results)
        missing = [key for key, value in arguments.items() if value is None]
        if name == "read_section" and missing == ["section_title"]:  # the place stands under no heading
            name, arguments = "read_note", {"file_path": arguments["file_path"]}
        elif missing:
            return f"Error: the earlier result names nothing for {', '.join(missing)}"
        text = self._tried(name, arguments)
        for _ in range(self.retries):
            if not failed(text):
                break
            repaired = self._repaired(task, name, arguments, text)
            if repaired in (None, arguments):
                break
            arguments = repaired or {}
            text = self._tried(name, arguments)
        return text

    def _tried(self, name: str, arguments: dict[str, Any]) -> str:
        """Call a tool, and again where it raises: that may pass."""
        text = ""
        for _ in range(self.retries + 1):
            try:
                return self.toolbox.call(name, **arguments)
            except Exception as error:  # noqa: BLE001 - an agent goes on when a tool fails, whatever it raises
                text = f"Error: {name} failed with {type(error).__name__}: {error}"
        return text

    def _repaired(self, task: SubTask, name: str, arguments: dict[str, Any], error: str) -> dict[str, Any] | None:
        """Have the model mend the parameters of a call that ended with an error; None where it cannot."""
        step = f"{task.description}: {name} with {json.dumps(arguments, ensure_ascii=False)}"
        try:
            mended = self.client.ask_for(Repair, "repair", step=step, error=error).parameters
        except Wrong:
            return None
        call = SubTask(id=task.id, tool=name, parameters=mended)
        return None if self.toolbox.problems(call) else mended

    def _resolved(self, task: SubTask, results: Mapping[int, Result]) -> dict[str, Any]:
        """Put earlier results where the parameters ask for them; None where a result does not hold such a value."""
        found = ((key, value, _FROM.fullmatch(str(value))) for key, value in task.parameters.items())
        return {key: extracted(key, results[int(one[1])].text) if one else value for key, value, one in found}


def extracted(parameter: str, text: str) -> str | None:
    """Give the first value of a result that suits a parameter: a path, the section of that place, or a line."""
    place = _PATH.search(text)
    if parameter in {"file_path", "section_title", "folder"}:
        path = place["path"].strip("- ") if place else ""
        section = place["section"] if place else ""
        return {"file_path": path, "section_title": section, "folder": path.rpartition("/")[0]}[parameter] or None
    lines = (line.strip() for line in text.split("\n") if line.strip() and not line.endswith(":"))
    return next(lines, None)


def failed(text: str) -> bool:
    """Whether a tool's text is an error."""
    return text.startswith("Error: ")


def shown(results: Sequence[Result], *, most: int = 6_000) -> str:
    """Give the results of sub-tasks as prompts show them, each cut at `most` characters."""
    return "\n\n".join(
        f"{number}. {one.task.description or one.task.tool}\n{one.text[:most]}"
        for number, one in enumerate(results, start=1)
    )
