"""`agentbench convert`: τ-bench v1 task lists as scenarios."""

import argparse
import ast
import json
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import Problem, SuiteError
from pytest_agentbench.core.file_models import Free, Holds, Text, Written
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import shown
from pytest_agentbench.core.scenario import Scenario
from pytest_agentbench.spec.document import Document, FilePlace, read_json
from pytest_agentbench.spec.loading import read_part, read_text
from pytest_agentbench.tau2.tasks import export_tasks, task_to_scenario


class _Action(Written):
    model_config = ConfigDict(extra="allow")

    name: Text
    kwargs: Free = {}


class _Task(Written):
    model_config = ConfigDict(extra="allow")

    expected: ClassVar[str] = "a τ-bench task: {user_id, instruction, actions, outputs}"

    user_id: Text
    instruction: Text
    actions: Annotated[tuple[_Action, ...], Holds("a list of actions")]
    outputs: Annotated[tuple[Text, ...], Holds("a list of texts")] = ()


_Tasks = Annotated[tuple[_Task, ...], Holds("a list of τ-bench tasks", 1)]


def read_tau_bench(file: Path) -> list[Scenario]:
    """Read a list of τ-bench v1 tasks from a Python module (`Task(...)`, `Action(...)`) or a JSON file.

    A task gets its index as its id, as in τ-bench. Raises `SuiteError` with every problem.
    """
    text = read_text(file)
    document = read_json(text, file) if file.suffix.lower() == ".json" else _read_module(text, file)
    read_part(document, _Tasks)
    found = [task_to_scenario(_tau2_task(task, index)) for index, task in enumerate(document.value)]
    problems = [document.problem((), one.message) for item in found if isinstance(item, list) for one in item]
    if problems:
        raise SuiteError(problems)
    return [item for item in found if isinstance(item, Scenario)]


def _tau2_task(task: dict[str, JsonValue], index: int) -> dict[str, JsonValue]:
    """Give the τ² task of a τ-bench one; its user is told the instruction alone, which holds all that it knows."""
    actions: list[JsonValue] = []
    for position, action in enumerate(task["actions"]):
        arguments = action.get("kwargs", {})
        actions.append({"action_id": f"{index}_{position}", "name": action["name"], "arguments": arguments})
    return {
        "id": str(index),
        "user_scenario": {"persona": None, "instructions": task["instruction"]},
        "evaluation_criteria": {
            "actions": actions,
            "communicate_info": task.get("outputs", []),
            "reward_basis": ["DB", "COMMUNICATE"],
        },
        "agentbench": {"provenance": {"format": "tau-bench", "user_id": task["user_id"]}},
    }


def _read_module(text: str, file: Path) -> Document:
    """Find the longest list of `Task(...)` in a module."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line, column = getattr(error, "lineno", 0) or 0, getattr(error, "offset", 0) or 0
        message = f"this is not Python: {getattr(error, 'msg', None) or error}"
        raise SuiteError([Problem(file=file, line=line, column=column, message=message)]) from None
    lists = [
        node.value
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.List)
    ]
    tasks = max(lists, key=lambda node: len(node.elts), default=None)
    if tasks is None or not any(_is_call(item, "Task") for item in tasks.elts):
        message = "no list of Task(...) is assigned in this module"
        raise SuiteError([Problem(file=file, message=message, hint="it looks like TASKS = [Task(user_id=…, …), …]")])
    wrong: list[Problem] = []
    values = [_literal(item, file, wrong) for item in tasks.elts]
    if wrong:
        raise SuiteError(wrong)
    places = [(item.lineno, item.col_offset + 1) for item in tasks.elts]

    def locate(path: tuple[str | int, ...]) -> FilePlace | None:
        if not path:
            line, column = tasks.lineno, tasks.col_offset + 1
        elif len(path) == 1 and isinstance(path[0], int):
            line, column = places[path[0]]
        else:
            return None
        return FilePlace(key_line=line, key_column=column, line=line, column=column)

    return Document(file=file, value=values, locate=locate)


def _literal(node: ast.expr, file: Path, wrong: list[Problem]) -> JsonValue:
    """Give the JSON value of an expression made of literals, `Task(...)` and `Action(...)`."""
    if _is_call(node, "Task") or _is_call(node, "Action"):
        assert isinstance(node, ast.Call)  # noqa: S101 - what the line above established, for the type checker
        if not node.args and all(keyword.arg for keyword in node.keywords):
            return {str(keyword.arg): _literal(keyword.value, file, wrong) for keyword in node.keywords}
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(item, file, wrong) for item in node.elts]
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_constant(key)): _literal(value, file, wrong) for key, value in pairs}
    try:
        value = ast.literal_eval(node)
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        message = f"found {shown(ast.unparse(node))}, expected literals, Task(…) and Action(…) with keywords"
        wrong.append(Problem(file=file, line=node.lineno, column=node.col_offset + 1, message=message))
        return None
    return value


def _constant(node: ast.expr | None) -> Any:
    return node.value if isinstance(node, ast.Constant) else None


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def convert(source: Path) -> str:
    """Give the task list (JSON text) of a τ-bench v1 module or list; raise `SuiteError` on faults."""
    return dumps(export_tasks(read_tau_bench(source)), indent=2)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.description = "Python lists are never executed. Prints JSON."
    parser.add_argument("source", type=Path, metavar="FILE", help="a τ-bench module (.py) or list (.json)")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """Give the task list and the exit status 0."""
    return convert(options.source), 0
