"""Agents of frameworks and clients over the APIs that they ask by default, behind the proxy."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.results.document import Document
from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, call, text
from tests.plugin.project import Project

pytestmark = pytest.mark.real

AGENTS = Path(__file__).parent / "agents"
SAID = "Your order {} is shipped."
PRICE = {"input": 1.0, "output": 2.0}

KINDS = {
    "openai_agents": ("agents", "responses", {}),
    "openai_agents_default_client": ("agents", "responses", {}),
    "pydantic_ai": ("pydantic_ai", "responses", {}),
    "anthropic": ("anthropic", "messages", {}),
    "anthropic streamed": ("anthropic", "messages", {"stream": True}),
    "openai_responses": ("openai", "responses", {}),
    "openai_responses streamed": ("openai", "responses", {"stream": True}),
    "openai_responses chained": ("openai", "responses", {"chained": True}),
}
"""Each agent's package, the API that it asks, and what its factory is told."""


def answer(request: ModelRequest) -> Answer:
    """Look up what the user names, then say what came of it."""
    if request.messages[-1]["role"] != "tool":
        given = call("get_order", order_id=request.last.rpartition(" ")[2].rstrip("?"))
        return given.using(input=100, output=10, cached=40, reasoning=5)
    made = json.loads(request.messages[-2]["tool_calls"][0]["function"]["arguments"])
    return text(SAID.format(made["order_id"])).using(input=200, output=20)


@pytest.fixture(params=KINDS)
def project(request: Any, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A suite of four runs, two turns each, of one of the agents."""
    name = request.param.partition(" ")[0]
    package, _, keywords = KINDS[request.param]
    pytest.importorskip(package)
    project = Project(pytester=pytester)
    for file in ("proxied.py", "orders.py"):
        shutil.copy(AGENTS / file, pytester.path)
    scenarios = [
        {
            "id": f"s{number}",
            "says": [f"Where is W{number}?", f"And where is W{number + 10}?"],
            "expect": [{"get_order": {"order_id": f"W{at}"}} for at in (number, number + 10)],
            "communicate": [f"W{number} is shipped", f"W{number + 10} is shipped"],
        }
        for number in range(1, 5)
    ]
    agent = {"factory": f"proxied:{name}", "price": PRICE, "serial": name.endswith("default_client")}
    suite = {"agent": agent, "scenarios": scenarios, "variants": {"only": keywords}}
    project.write("agentbench.yaml", json.dumps(suite))
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(key, "none")
    return project


def play(project: Project, monkeypatch: pytest.MonkeyPatch, url: str, *arguments: str) -> Document:
    """Play the suite with a model server at a URL; both clients find it by their variables."""
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url.removesuffix("/v1"))
    project.run(*arguments, process="fresh")
    return project.document


def test_a_suite_is_recorded_and_replays_with_the_server_down(
    project: Project, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Every call is seen, metered and priced, and the replay asks nobody and decides the same."""
    _, api, _ = KINDS[request.node.callspec.params["project"]]
    with ModelServer(answer) as server:
        live = play(project, monkeypatch, server.base_url, "--agentbench-cassette", "record")
        assert {asked.api for asked in server.requests} == {api}
        assert (len(server.requests), server.problems) == (16, [])
    replayed = play(project, monkeypatch, "http://127.0.0.1:9/v1", "--agentbench-cassette", "replay")

    for document, calls, cost in ((live, 4, 4 * 150e-6 + 4 * 30e-6), (replayed, 0, 0.0)):
        assert [(run.verdict.value, run.error) for run in document.results] == [("passed", None)] * 4
        for run in document.results:
            usage = run.usage["agent"]
            assert (usage.calls, usage.replayed) == (calls, 4 - calls)
            assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (600, 80, 60)
            assert usage.cost_usd == pytest.approx(cost)


def test_a_run_over_its_budget_is_stopped(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third call of each run is refused before it is sent, whatever the agent's client makes of that."""
    suite = json.loads((project.pytester.path / "agentbench.yaml").read_text())
    project.write("agentbench.yaml", json.dumps({**suite, "limits": {"model_calls": 2}}))

    with ModelServer(answer) as server:
        document = play(project, monkeypatch, server.base_url)
        assert len(server.requests) == 8

    assert {run.termination.value for run in document.results} == {"SAFETY_TIMEOUT"}
    assert all("budget of 2 model calls" in run.stop_reason for run in document.results)


@pytest.mark.parametrize("project", ["pydantic_ai", "anthropic"], indirect=True)
def test_a_session_over_its_budget_runs_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst case of the first call does not fit, so nothing is sent."""
    with ModelServer(answer) as server:
        document = play(project, monkeypatch, server.base_url, "-oagentbench_max_cost=0.000001")
        assert server.requests == []

    assert [run.not_run.partition(":")[0] for run in document.results if run.not_run] == ["budget"] * 4
