"""Exported generated tasks are solvable from their own text: every value of a right call is said, shown or answered."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.suite import Suite
from pytest_agentbench.generation.tools.world import Opened, world_of
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.tau2.export import export

EXAMPLE = Path(__file__).parents[2] / "example_project"
SUITES = {
    "generated": Path(__file__).parent / "generated" / "desk.agentbench.yaml",
    "weather_generated": EXAMPLE / "weather_generated.agentbench.yaml",
}

NAMES = re.compile(r"[A-ZÀ-Ý][\w’'-]*(?:[ ](?:[A-ZÀ-Ý]|[a-zà-ý]{1,3}\b)[\w’'-]*)*")
"""What may be the name of a place in a line; the weather service is asked for each."""


@pytest.fixture(scope="module")
def exported() -> dict[str, list[dict[str, Any]]]:
    """Give the tasks of both suites, whose tools lie in the example project."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE)
        return {name: json.loads(export(file)) for name, file in SUITES.items()}


def leaves(value: Any) -> Iterator[Any]:
    """Give the values in lists and mappings, and the names of rows."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from leaves(one)
    else:
        yield value


def plain(value: Any) -> str:
    """Write a value as it may be said: `no_longer_needed` is *no longer needed*."""
    return str(value).casefold().replace("_", " ")


def text_of(task: dict[str, Any]) -> str:
    """Give all that τ²'s simulated user is told."""
    user = task["user_scenario"]
    return " ".join([str(user.get("persona", "")), *map(str, user["instructions"].values())])


def values_of(task: dict[str, Any]) -> list[Any]:
    """Give what the rows of a task hold: its own, and those of the suite that it is about."""
    rows = task["agentbench"].get("rows", {})
    return [*leaves(task.get("initial_state")), *leaves(rows), *(key for table in rows.values() for key in table)]


def asked_for(task: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Give (tool, argument, value) of every expected call, as far as it is compared."""
    for call in task["evaluation_criteria"]["actions"] or ():
        compared = call.get("compare_args")
        for name, value in call["arguments"].items():
            if compared is None or name in compared:
                yield from ((call["name"], name, one) for one in leaves(value) if one is not None)


def is_said(value: Any, text: str) -> bool:
    """Whether a text holds a value as a whole."""
    return re.search(rf"(?<!\w){re.escape(plain(value))}(?!\w)", text) is not None


def is_among(value: Any, values: list[Any]) -> bool:
    """Whether a value stands among others; a service may answer more digits than a call gives."""
    if isinstance(value, float):
        numbers = [one for one in values if isinstance(one, int | float)]
        return any(math.isclose(value, one, abs_tol=1e-3) for one in numbers)
    return plain(value) in map(plain, values)


def unknown(task: dict[str, Any], answered: list[Any]) -> list[tuple[str, str, Any]]:
    """Give what nobody could know."""
    text, values = plain(text_of(task)), [*values_of(task), *answered]
    return [one for one in asked_for(task) if not is_said(one[2], text) and not is_among(one[2], values)]


async def answers(task: dict[str, Any], opened: Opened) -> list[Any]:
    """Give what the tools list, answer to the expected calls, and to a search for each name that the user says."""
    calls = [(call["name"], call["arguments"]) for call in task["evaluation_criteria"]["actions"]]
    calls += [("search_places", {"q": name}) for name in NAMES.findall(text_of(task))]
    # a value that the tool itself lists is known to whoever has the tool
    found: list[Any] = [one for spec in opened.tools.of("assistant") for one in leaves(spec.parameters)]
    for tool, arguments in calls:
        answer = await opened.call(tool, arguments)
        found += [] if answer.error else leaves(json.loads(answer.content))
    return found


def test_tasks_of_policies_hold_every_value(exported: dict[str, list[dict[str, Any]]]) -> None:
    """In what the user is told, in the rows of the task, or in those of the suite that stand beside them."""
    tasks = exported["generated"]

    assert len(tasks) == 8
    assert {task["id"]: left for task in tasks if (left := unknown(task, []))} == {}


async def test_tasks_of_tools_hold_every_value_or_the_way_to_it(exported: dict[str, list[dict[str, Any]]]) -> None:
    """What the text does not say is answered to a call with what it says."""
    suite: Suite = load_suite(SUITES["weather_generated"], environ={})
    async with world_of(suite).open() as opened:
        missing = {
            task["id"]: left
            for task in exported["weather_generated"]
            if unknown(task, []) and (left := unknown(task, await answers(task, opened)))
        }

    assert missing == {}


@pytest.mark.parametrize("name", SUITES)
def test_tasks_tell_their_users_every_line(name: str, exported: dict[str, list[dict[str, Any]]]) -> None:
    """All that the scripted user says stands in the instructions, in order."""
    for task in exported[name]:
        said = task["user_scenario"]["instructions"]["task_instructions"]
        words = [line if isinstance(line, str) else next(iter(line.values())) for line in task["agentbench"]["says"]]
        places = [said.find(line) for line in words]
        assert -1 not in places
        assert places == sorted(places)
