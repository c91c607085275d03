"""A user that a model plays, through the plugin: what it means decides about consent, its tools work beside `say`."""

import json
import re
from typing import Any

import pytest

from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, call, structured, text
from tests.plugin.models_project import models_suite, said, turn
from tests.plugin.project import Project

ASK = {"id": "ask", "text": "Ask first.", "rule": {"confirm_before": {"calls": ["refund"]}}}


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


def asking_agent(request: ModelRequest) -> Answer:
    """Say what it would refund, and do it whatever the answer is."""
    if request.messages[-1]["role"] == "tool":
        return text("It is refunded.")
    order = re.search(r"W\d+", said(request))
    assert order is not None
    heard = sum(message["role"] == "user" for message in request.messages)
    if heard == 1:
        return text(f"I would refund {order[0]}. Shall I?")
    return call("refund", order_id=order[0]) if "refunded" not in said(request) else text("You are welcome.")


def playing(*answers: Any) -> Any:
    """Give a user that answers so, request by request: a turn, or prose."""
    left = list(answers)
    return lambda _: structured(left.pop(0)) if isinstance(left[0], dict) else text(left.pop(0))


WISH = turn("a refund of W1 pls", "request")
BYE = turn("", "close", done=True, stop="done")


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (turn("yep", "confirm"), True),
        (turn("いいえ", "decline"), False),
        (turn("yep, if it's free", "confirm", "condition"), False),
        (turn("if you say so", "other"), None),
        ("Kein Problem", None),
    ],
)
def test_what_the_user_means_decides_about_consent(project: Project, answer: Any, kept: bool | None) -> None:
    """In any words; a label that is neither a yes nor a no, and prose, leave it open."""
    given = [answer] if isinstance(answer, dict) else [answer, answer]  # prose is repaired once
    with ModelServer({"agent": asking_agent, "user": playing(WISH, *given, BYE)}) as server:
        models_suite(project, server.base_url, count=1, policies=[ASK])
        file = project.pytester.path / "bench/agentbench.yaml"
        file.write_text(file.read_text().replace('"id": "s1"', '"id": "s1", "policies": ["ask"]'))
        project.run()

    [one] = project.document.results
    assert [outcome.kept for outcome in one.policies] == [kept]


def test_a_failure_is_told_by_what_the_agent_did_where_the_user_is_only_suspected(project: Project) -> None:
    """A guard's alarm marks the run; what failed is what was asked of the agent."""
    suspected = turn("i want a refund, W1, my code is ZX99881", "request")
    given = [suspected, suspected, BYE] * 2  # each run is played again once
    with ModelServer({"agent": lambda _: text("It is refunded."), "user": playing(*given)}) as server:
        models_suite(project, server.base_url, count=1)
        result = project.run()

    [one] = project.document.results
    assert (one.verdict.value, one.blame, bool(one.disputed)) == ("failed", "agent", True)
    result.stdout.fnmatch_lines(["*s1 failed (disputed): state, *"])
    result.stdout.no_fnmatch_line("*failed (disputed): user invention*")
    result.stdout.fnmatch_lines(["*turn 1: the user states 'zx99881', which is neither in its notes nor in the chat*"])
    result.stdout.no_fnmatch_line("*your notes*")


def test_who_spoilt_a_run_that_is_not_scored_is_named_once(project: Project) -> None:
    """In the list of such runs, beside the guard's name."""
    early = turn("bye", "close", stop="done")
    with ModelServer({"agent": lambda _: text("It is refunded."), "user": playing(*[early] * 4)}) as server:
        models_suite(project, server.base_url, count=1)
        result = project.run()

    result.stdout.fnmatch_lines(["  s1  user: early_stop: *the user leaves in its first turn*"])


def test_a_user_writes_the_language_of_its_suite(project: Project) -> None:
    """Where the scenario names none."""
    with ModelServer({"agent": asking_agent, "user": playing(WISH, turn("ja", "confirm"), BYE)}) as server:
        models_suite(project, server.base_url, count=1, language="de")
        project.run()

    asked = [one for one in server.requests if one.body["model"] == "user"]
    assert "- Write German." in said(asked[0])


def test_a_user_looks_with_its_own_tool_and_says_what_it_saw(project: Project) -> None:
    """Dual control: both parties' calls stand in one transcript, which keeps what the user meant and wants."""
    spoken = [
        call("say", **turn("i want a refund, W1", "request")),
        call("look"),
        call("say", **turn("sure, it's dark", "confirm", "inform")),
        call("say", **BYE),
    ]
    with ModelServer({"agent": asking_agent, "user": lambda _: spoken.pop(0)}) as server:
        models_suite(project, server.base_url, count=1)
        file = project.pytester.path / "bench/agentbench.yaml"
        file.write_text(file.read_text().replace('"tools": "shop_tools"', '"tools": "shop_tools", "user_tools": "own"'))
        project.write("bench/own.py", 'def look(state: dict) -> str:\n    """Look."""\n    return "dark"\n')
        project.run()

    [one] = project.document.results
    (kept,) = (project.pytester.path / ".agentbench" / "runs").glob(f"*/{one.transcript}")
    messages = [message for message in json.loads(kept.read_text())["messages"] if message["role"] == "user"]
    assert one.passed
    assert [[made["name"] for made in message.get("tool_calls", ())] for message in messages] == [[], ["look"], [], []]
    assert [[act["kind"] for act in message.get("acts", ())] for message in messages] == [
        ["request"],
        [],
        ["confirm", "inform"],
        ["close"],
    ]
    assert messages[2]["goal_items"] == [{"text": "refund"}]
