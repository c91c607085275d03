"""A plan as validated data: sub-tasks, what each needs, and the order that follows from it."""

import re
from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from inspect import Parameter, signature
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

REFERENCE = re.compile(r"\bfrom_task_(\d+)\b")
"""How a parameter names the result of another sub-task."""


class PlanError(Exception):
    """A plan cannot be carried out; the message says why, one reason a line."""


class SubTask(BaseModel):
    """One step: a tool with its parameters, or no tool for a step of thought."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: int = Field(ge=1)
    description: str
    tool: str | None = None
    parameters: dict[str, Any] = {}
    dependencies: tuple[int, ...] = ()
    expected_outcome: str = ""

    @property
    def references(self) -> frozenset[int]:
        """The sub-tasks whose results the parameters name."""
        return frozenset(int(number) for text in _texts(self.parameters) for number in REFERENCE.findall(text))


class Plan(BaseModel):
    """A goal and its sub-tasks; dependencies are complete, lead somewhere and form no cycle."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    goal: str
    subtasks: tuple[SubTask, ...] = Field(min_length=1, max_length=30)

    @model_validator(mode="after")
    def _is_consistent(self) -> "Plan":
        ids = [task.id for task in self.subtasks]
        twice = sorted({number for number in ids if ids.count(number) > 1})
        if twice:
            raise ValueError(f"sub-task {twice[0]} is there {ids.count(twice[0])} times")
        for task in self.subtasks:
            unknown = sorted({*task.dependencies, *task.references} - {*ids})
            if unknown:
                raise ValueError(f"sub-task {task.id} depends on {unknown[0]}, which is not in the plan")
        try:
            self.order()
        except CycleError as error:
            raise ValueError(f"sub-tasks wait for each other: {' -> '.join(map(str, error.args[1]))}") from error
        return self

    def needs(self, task: SubTask) -> frozenset[int]:
        """Give what must be done before: the dependencies, and what the parameters refer to."""
        return frozenset(task.dependencies) | task.references

    def order(self) -> list[list[SubTask]]:
        """Give the sub-tasks in rounds; those of one round do not need each other."""
        by_id = {task.id: task for task in self.subtasks}
        sorter = TopologicalSorter({task.id: self.needs(task) for task in self.subtasks})
        sorter.prepare()
        rounds = []
        while sorter.is_active():
            ready = sorted(sorter.get_ready())
            rounds.append([by_id[number] for number in ready])
            sorter.done(*ready)
        return rounds


def read_plan(data: object, tools: Mapping[str, Callable[..., Any]]) -> Plan:
    """Validate a plan, and that its tools exist and take its parameters; raise `PlanError` with every reason."""
    try:
        plan = Plan.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        raise PlanError("\n".join(f"{'.'.join(map(str, d['loc'])) or 'plan'}: {d['msg']}" for d in details)) from error
    problems = [problem for task in plan.subtasks for problem in _problems(task, tools)]
    if problems:
        raise PlanError("\n".join(problems))
    return plan


def _problems(task: SubTask, tools: Mapping[str, Callable[..., Any]]) -> Iterator[str]:
    if task.tool is None:
        return
    if task.tool not in tools:
        yield f"sub-task {task.id}: there is no tool {task.tool!r}; the tools are {', '.join(sorted(tools))}"
        return
    known = {name: item for name, item in signature(tools[task.tool]).parameters.items() if name != "state"}
    for name in sorted(task.parameters.keys() - known):
        yield f"sub-task {task.id}: {task.tool} takes no {name!r}; it takes {', '.join(known)}"
    for name, item in known.items():
        if item.default is Parameter.empty and name not in task.parameters:
            yield f"sub-task {task.id}: {task.tool} needs {name!r}"


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
