"""What suites give as `context` reaches the agents of real frameworks as each of them takes it."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, call, text
from tests.plugin.project import Project

pytestmark = pytest.mark.real

PACKAGES = {"openai_agents": "agents", "pydantic_ai": "pydantic_ai", "langgraph": "langgraph", "adk": "google.adk"}

GIVEN = {
    "openai_agents": ["openai_agents(typed=True)", "openai_agents(typed=False, by_key=True)"],
    "pydantic_ai": ["pydantic_ai(deps_type=Customer)", "pydantic_ai(deps_type=CustomerDict)"],
    "langgraph": ["langgraph()", "langgraph(schema=Customer)", "langgraph(schema=CustomerDict)"],
    "adk": ["adk()", "adk(instructed=True)"],
}
"""What gives an agent that reads who the customer is, by framework."""

MADE = {
    "openai_agents": "openai_agents(typed=False)",
    "pydantic_ai": "pydantic_ai(deps_type=Customer)",
    "langgraph": "langgraph(schema=Customer)",
}

ADD = "add `context: {customer: …}`"
MAKE = "add `context: {make: my_context:make_context"
Lacking = tuple[str, dict[str, Any], str]

LACKING: dict[str, list[Lacking]] = {
    "openai_agents": [
        ("openai_agents(typed=False)", {}, ADD),
        ("openai_agents(typed=False, instructed=True)", {}, ADD),
        ("openai_agents(typed=True)", {}, ADD),
        ("openai_agents(typed=False, by_key=True)", {"tier": 2}, ADD),
        ("openai_agents(typed=False)", {"customer": "Ada"}, "context: {make: my_context:make_context}"),
    ],
    "pydantic_ai": [
        ("pydantic_ai(deps_type=Customer)", {}, ADD),
        ("pydantic_ai(deps_type=None)", {}, ADD),
        ("pydantic_ai(deps_type=Desk)", {"shop": "Soho"}, "owner (Clerk); " + MAKE),
        ("pydantic_ai(deps_type=Customer)", {"customer": "Ada", "teir": 2}, "context.teir: "),
        ("pydantic_ai(deps_type=Customer)", {"customer": "Ada", "tier": "gold"}, "context.tier: "),
    ],
    "langgraph": [
        ("langgraph()", {}, ADD),
        ("langgraph(schema=Customer)", {}, ADD),
        ("langgraph(schema=CustomerDict)", {}, ADD),
    ],
    "adk": [("adk()", {}, ADD), ("adk(instructed=True)", {}, ADD)],
}
"""Agents, a context that does not do for them, and what is said."""


ASTRAY = {
    "openai_agents": ["openai_agents(typed=False, orders=True)"],
    "pydantic_ai": ["pydantic_ai(deps_type=None, orders=True)"],
    "langgraph": ["langgraph(orders=True)"],
    "adk": ["adk(orders=True)"],
}
"""Agents that look into a table of their own for what is not there."""


def answer(request: ModelRequest) -> Answer:
    """Ask who the customer is, then say it; an instruction may tell it, too."""
    if request.messages[-1]["role"] == "tool":
        if "error" in str(request.last):
            return text("There is no such order.")
        return text(f"You are {request.last}.")
    told = re.search(r"Serve (\w+)", json.dumps(request.messages))
    return text(f"You are {told[1]}.") if told else call("whoami")


Play = Callable[..., list[Result]]


@pytest.fixture(params=PACKAGES)
def framework(request: pytest.FixtureRequest) -> str:
    """Name a framework that is there."""
    pytest.importorskip(PACKAGES[request.param])
    return str(request.param)


@pytest.fixture
def play(pytester: pytest.Pytester) -> Iterator[Play]:
    """Give what plays suites whose factories give the agents named, and returns the results of their runs."""
    with ModelServer(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", "none")
        patch.setenv("LANGSMITH_TRACING", "false")
        project = Project(pytester=pytester)
        shutil.copy(Path(__file__).parent / "agents" / "context_agents.py", pytester.path)

        def played(*suites: tuple[str, dict[str, Any]]) -> list[Result]:
            lines = ["from context_agents import *"]
            for at, (factory, suite) in enumerate(suites):
                lines.append(f"def build_{at}():\n    return {factory}")
                whole = {"agent": f"desks:build_{at}", **suite}
                project.write(f"s{at}.agentbench.yaml", json.dumps(whole))
            project.write("desks.py", "\n".join(lines))
            project.run(process="fresh")
            return list(project.document.results)

        yield played


def who(customer: str = "Ada", **keys: Any) -> dict[str, Any]:
    """Give a scenario in which a customer asks who they are."""
    return {"id": customer, "says": ["Who am I?"], "communicate": [customer], **keys}


def test_values_reach_the_agent(play: Play, framework: str) -> None:
    """Each of several conversations at once has the context of its own scenario, the suite's beneath it."""
    names = ("Ada", "Grace", "Edsger")
    scenarios = [who(one, context={"customer": one}) for one in names]

    results = play(*((one, {"scenarios": scenarios, "context": {"customer": "nobody"}}) for one in GIVEN[framework]))

    assert [(run.verdict.value, run.error) for run in results] == [("passed", None)] * 3 * len(GIVEN[framework])


def test_an_object_is_made_for_each_run(play: Play, framework: str, pytester: pytest.Pytester) -> None:
    """The function gets the state's handle, the session and the values, by what it declares."""
    if framework not in MADE:
        pytest.skip("it takes values only")
    (pytester.path / "shop.json").write_text('{"shop": "Soho"}')
    (pytester.path / "shop_tools.py").write_text("def close_shop(state): ...")

    results = play(
        (
            MADE[framework],
            {
                "environment": {"tools": "shop_tools", "state": {"json": "shop.json"}},
                "context": {"make": "context_agents:make_context"},
                "scenarios": [
                    who("Ada of Soho", context={"customer": "Ada"}),
                    who("Grace of Soho", context={"customer": "Grace"}),
                ],
            },
        )
    )

    assert [(run.verdict.value, run.error) for run in results] == [("passed", None)] * 2


def test_what_the_suite_does_not_give_is_its_own_fault(play: Play, framework: str) -> None:
    """The message is the line to add, and the agent is not blamed."""
    rows = LACKING[framework]

    results = play(*((factory, {"scenarios": [who(context=context)]}) for factory, context, _ in rows))

    for run, (factory, context, said) in zip(results, rows, strict=True):
        assert (run.verdict.value, run.blame) == ("error", "scenario"), (factory, context, run.error)
        assert said in (run.error or ""), (factory, run.error)


@pytest.mark.parametrize("context", [{}, {"customer": "Ada"}])
def test_a_table_of_the_agents_own_is_not_the_context(play: Play, framework: str, context: dict[str, Any]) -> None:
    """What lacks there is the agent's to mend, or its model's to tell."""
    results = play(*((one, {"scenarios": [who("order", context=context)]}) for one in ASTRAY[framework]))

    for run in results:
        assert (run.verdict.value, run.blame) in [("passed", None), ("failed", "agent")], run.error
