"""Approvals and interrupts of real frameworks, played by pytest: put to the user, decided, and gone on with."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, call, calls, text

pytestmark = pytest.mark.real

AGENTS = Path(__file__).parent / "agents"

KINDS = {
    "openai-agents": ("agents", "build_openai_agents"),
    "pydantic-ai": ("pydantic_ai", "build_pydantic_ai"),
    "langchain": ("langchain", "build_middleware"),
    "langchain-per-call": ("langchain", "build_middleware_per_call"),
    "langgraph-inbox": ("langgraph", "build_inbox"),
    "langgraph-interrupt": ("langgraph", "build_interrupt"),
    "langgraph-before": ("langgraph", "build_static"),
    "langgraph-after": ("langgraph", "build_static_after"),
    "adk": ("google.adk", "build_adk"),
}
ONE_A_TURN = ("langgraph-inbox", "langgraph-interrupt")
"""A node that runs several calls runs those before an interrupt anew, and does not tell which of them asks."""
NO_EDIT = ("openai-agents", "langgraph-interrupt", "adk")

DECIDED = """
policies: [{id: ask-first, text: Ask before you refund., rule: {confirm_before: {calls: [refund]}}}]
scenarios:
  - id: approved
    says: ["Refund 30 of W1", {approve: {refund: {order_id: W1, amount: 30}}}]
    expect: [{refund: {order_id: W1, amount: 30}}, {approval: {refund: {order_id: W1}}}]
    communicate: ["Refunded 30 for W1"]
  - id: rejected
    says: ["Refund 30 of W2", {reject: refund, say: "Too dear"}]
    expect: [{approval: refund}]
    never: [refund]
    communicate: [nothing was paid]
  - id: plain
    says: ["Refund 30 of W3"]
    expect: [{refund: {order_id: W3, amount: 30}}]
  - id: twice
    says: ["Refund 30 of W4", {reject: {refund: {order_id: W4}}}, {request: Then refund 30 of W5}, {approve: refund}]
    expect: [{refund: {order_id: W5, amount: 30}}]
    never: [{refund: {order_id: W4}}, {approval: delete}]
"""

SEVERAL = """
  - id: several
    says: ["Refund 30 of W7 and W8", {approve: {refund: {order_id: W7}}}, {reject: {refund: {order_id: W8}}}]
    expect: [{refund: {order_id: W7, amount: 30}}]
    never: [{refund: {order_id: W8}}]
"""

EDITED = """
  - id: edited
    says: ["Refund 30 of W6", {edit: {refund: {amount: 10}}}]
    expect: [{refund: {order_id: W6, amount: 10}}]
"""


def answer(request: ModelRequest) -> Answer:
    """Refund what the user named last, then say what came of it."""
    at = max(place for place, one in enumerate(request.messages) if one["role"] == "user")
    orders = re.findall(r"W\d+", str(request.messages[at]["content"]))
    results = [str(one["content"]) for one in request.messages[at + 1 :] if one["role"] == "tool"]
    if not results:
        return calls(*(call("refund", order_id=order, amount=30.0) for order in orders))
    paid = re.search(r"Refunded .* for W\d+", results[0])
    return text(paid.group() if paid else "I see: nothing was paid.")


def play(folder: Path, suite: str, script: Any, **more: str) -> tuple[list[dict[str, Any]], str]:
    """Play a suite; give its results and what pytest wrote."""
    shutil.copy(AGENTS / "approving.py", folder)
    (folder / "agentbench.yaml").write_text(suite)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--agentbench",
        "--agentbench-json",
        "out.json",
        "-p",
        "no:cacheprovider",
    ]
    with ModelServer(script) as server:
        environ = {**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none", **more}
        environ |= {"LANGSMITH_TRACING": "false", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(
            command, cwd=folder, env=environ, capture_output=True, text=True, timeout=100, check=False
        )
    shown = done.stdout + done.stderr
    assert (folder / "out.json").exists(), shown
    return json.loads((folder / "out.json").read_text())["results"], shown


def messages_of(folder: Path, result: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the messages of a run's transcript."""
    [file] = (folder / ".agentbench").rglob(result["transcript"])
    return list(json.loads(file.read_text())["messages"])


@pytest.mark.parametrize("name", KINDS)
def test_what_is_approved_rejected_and_edited_is_what_happens(tmp_path: Path, name: str) -> None:
    """The conversations overlap, each decided by its own lines; the log of the tool says what was really paid."""
    package, factory = KINDS[name]
    pytest.importorskip(package)
    edits, several = name not in NO_EDIT, name not in ONE_A_TURN
    scenarios = DECIDED + EDITED * edits + SEVERAL * several

    results, shown = play(tmp_path, f"agent: approving:{factory}\n{scenarios}", answer)

    assert {one["verdict"] for one in results} == {"passed"}, shown
    paid = ["W1 30", "W3 30", "W5 30", *["W6 10"] * edits, *["W7 30"] * several]
    assert sorted((tmp_path / "refunds.log").read_text().splitlines()) == paid
    decisions = {}
    for one in results:
        said = [each for message in messages_of(tmp_path, one) for each in message.get("decisions", ())]
        decisions[one["key"]["scenario"]] = {(each["tool"], each["kind"]) for each in said}
    assert decisions["approved"] == decisions["plain"] == {("refund", "approve")}
    assert decisions["rejected"] == {("refund", "reject")}
    assert all(one["policies"][0]["kept"] is True for one in results if one["metrics"]["tool_calls"]), shown


@pytest.mark.parametrize("name", ["langchain", "langchain-per-call"])
def test_a_free_question_is_answered_by_the_line_that_names_it(tmp_path: Path, name: str) -> None:
    """A tool that a person answers in place of is a question; without a line, the next thing said answers it."""
    package, factory = KINDS[name]
    pytest.importorskip(package)
    suite = f"""
agent: approving:{factory}
scenarios:
  - {{id: named, says: [I want a mug, {{respond: ask_user, say: The blue one}}], communicate: [the blue one]}}
  - {{id: unnamed, says: [I want a mug, {{inform: The red one}}], communicate: [the red one]}}
"""

    def ask(request: ModelRequest) -> Answer:
        results = [str(one["content"]) for one in request.messages if one["role"] == "tool"]
        return text(f"You get {results[0]}") if results else call("ask_user", question="Which one?")

    results, shown = play(tmp_path, suite, ask)

    assert [one["verdict"] for one in results] == ["passed", "passed"], shown


def test_a_decision_that_the_framework_does_not_take_is_the_scenarios_fault(tmp_path: Path) -> None:
    """The OpenAI Agents SDK changes no arguments: the run is unscored, and the reason says what it takes."""
    pytest.importorskip("agents")
    suite = f"agent: approving:build_openai_agents\nscenarios:{EDITED}"

    [result], _ = play(tmp_path, suite, answer)

    assert (result["verdict"], result["blame"]) == ("error", "scenario")
    assert "takes only approve, reject" in result["stop_reason"]
