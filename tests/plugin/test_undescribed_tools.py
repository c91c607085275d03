"""Agents whose tools nobody describes: what a call did is guessed from its name, said once, and held against nobody."""

import json
import textwrap
from typing import Any

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.core.run import Result
from tests.plugin.project import TWO_WORKERS, Project
from tests.tables import each

AGENT = """
import json

def build():
    "An agent that makes the calls that its user names, and shows them."

    def reply(message):
        name, _, order = message.partition(" ")
        calls = [{"id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps({"order": order})}}]
        return [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "1", "content": "ok"},
            {"role": "assistant", "content": "Done."},
        ]

    return reply
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project."""
    return Project(pytester=pytester)


def write(project: Project, *scenarios: dict[str, Any], **keys: Any) -> None:
    """Write a suite of an agent that shows its calls, and whose tools are nowhere described."""
    project.write("bench/desk.py", textwrap.dedent(AGENT))
    project.write(
        "bench/agentbench.yaml", json.dumps({"agent": "desk:build", "scenarios": scenarios, **keys}, indent=1)
    )


def results(project: Project, *arguments: str) -> dict[str, Result]:
    """Run the suite; give the results by scenario."""
    project.run(*arguments)
    return {one.key.scenario: one for one in project.document.results}


IDLE = {"id": "idle", "says": ["cancel_order W1"], "expect": []}
ASKED = {"id": "asked", "says": ["cancel_order W2"], "expect": [{"cancel_order": {"order": "W2"}}]}
READ = {"id": "read", "says": ["get_order W1"], "expect": []}
OTHER = {"id": "other", "says": ["cancel_order W1"], "expect": [{"refund_order": {"order": "W1"}}]}


def test_a_call_whose_name_says_that_it_writes_passes_nowhere_unseen(project: Project) -> None:
    """A name alone is no proof against the agent, but the state is not known to be right either."""
    write(project, IDLE)

    found = results(project)["idle"]

    assert (found.verdict, found.blame) == ("error", "scenario")
    assert [one.part for one in found.unmeasured] == ["state"]
    assert "cancel_order" in found.unmeasured[0].why
    assert "writes: [cancel_order]" in found.unmeasured[0].cure


@each(
    ("scenarios", "keys"),
    [
        ((IDLE, ASKED), {}),
        ((IDLE, {"id": "never", "says": ["hi"], "never": ["cancel_order"]}), {}),
        ((IDLE,), {"environment": {"writes": ["cancel_order"]}}),
    ],
)
def test_a_write_that_the_suite_knows_of_fails_where_it_is_not_expected(
    project: Project, scenarios: tuple[dict[str, Any], ...], keys: dict[str, Any]
) -> None:
    """What the suite asks for or forbids somewhere, and what is named like a write, is one; so is what it declares."""
    write(project, *scenarios, **keys)

    found = results(project)["idle"]

    assert (found.verdict, found.blame) == ("failed", "agent")
    assert "cancel_order(order='W1') changed state and is not part of the goal" in found.findings[0].message


def test_a_wrong_write_stays_wrong_whatever_the_user_left_open(project: Project) -> None:
    """The call stands on the transcript, and is the agent's."""
    wrong = {"id": "wrong", "says": ["cancel_order W1"], "expect": [{"cancel_order": {"order": "W2"}}]}
    write(project, wrong)

    found = results(project)["wrong"]

    assert (found.verdict, found.blame) == ("failed", "agent")
    assert found.findings[0].proven


@each(("keys", "verdict"), [({"environment": {"reads": ["cancel_order"]}}, "passed"), ({}, "error")])
def test_what_the_suite_declares_goes_before_a_guess(project: Project, keys: dict[str, Any], verdict: str) -> None:
    """A tool that is declared to read writes nothing, however it is named."""
    write(project, IDLE, **keys)

    assert results(project)["idle"].verdict == verdict


def test_a_call_whose_name_says_that_it_reads_is_none_of_the_writes(project: Project) -> None:
    """Nothing is left open by it; one that is expected must be made all the same."""
    missing = {"id": "missing", "says": ["get_order W1"], "expect": [{"find_order": {"order": "W1"}}]}
    write(project, READ, missing)

    found = results(project)

    assert (found["read"].verdict, found["read"].unmeasured) == ("passed", ())
    assert found["missing"].verdict == "failed"


@pytest.mark.parametrize("workers", ["-n0", TWO_WORKERS])
def test_the_report_says_once_what_was_guessed(project: Project, workers: str) -> None:
    """The line can be pasted; what is declared is not told."""
    write(project, ASKED, READ, {**IDLE, "id": "again"}, environment={"reads": ["get_order"]})

    result = project.run(workers)

    told = [line for line in result.outlines if "guessed from" in line]
    assert len(told) == 1, result.stdout.str()
    assert "cancel_order writes" in told[0]
    assert "get_order" not in told[0]
    assert "`environment: {writes: [cancel_order]}`" in told[0]


@pytest.mark.parametrize("workers", ["-n0", TWO_WORKERS])
def test_a_name_that_no_run_showed_is_asked_after(project: Project, workers: str) -> None:
    """The nearest name that a run did call stands beside it; no verdict changes."""
    forbids = {"id": "forbids", "says": ["get_order W1"], "never": ["cancel_ordr", "delete_all"]}
    write(project, ASKED, forbids, environment={"writes": ["cancel_odrer"]})

    result = project.run(workers)

    told = [line for line in result.outlines if "did you mean 'cancel_order'?" in line]
    assert len(told) == 2, result.stdout.str()
    assert any(line.startswith("bench/agentbench.yaml:") and "never: 'cancel_ordr'" in line for line in told)
    assert any("environment.writes[0]: 'cancel_odrer'" in line for line in told)
    assert "delete_all" not in result.stdout.str()
    assert result.ret == 0


APP = """
import json

async def app(scope, receive, send):
    "Answers each message with the call that it names."
    if scope["type"] != "http":
        return
    body = json.loads((await receive())["body"])
    if "message" not in body:
        status, answer = 422, {"detail": [{"loc": ["body", "message"], "msg": "Field required"}]}
    else:
        name, _, order = body["message"].partition(" ")
        call = {"name": name, "arguments": {"order": order}, "result": "ok"}
        status, answer = 200, {"reply": "Done.", "trace": [call]}
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps(answer).encode()})
"""


def behind_http(project: Project, *scenarios: dict[str, Any], **http: Any) -> dict[str, Result]:
    """Run a suite of an app that shows its calls at `trace`; give the results by scenario."""
    project.write("bench/desk_app.py", textwrap.dedent(APP))
    call = {"name": "name", "arguments": "arguments", "result": "result"}
    agent = {"http": {"app": "desk_app:app", "call": call, **http}}
    project.write("bench/agentbench.yaml", json.dumps({"agent": agent, "scenarios": scenarios}, indent=1))
    project.run()
    return {one.key.scenario: one for one in project.document.results}


def test_a_misspelt_path_to_calls_is_the_suites_fault(project: Project) -> None:
    """No calls are seen: neither does `expect: []` pass, nor is the agent to blame for what it did."""
    found = behind_http(project, IDLE, ASKED, calls="steps")

    assert {(one.verdict.value, one.blame) for one in found.values()} == {("error", "scenario")}
    told = found["asked"].error or ""
    assert told.startswith("bench/agentbench.yaml:")
    assert "agent.http.calls: 'steps' leads nowhere" in told
    assert "write `calls: trace`" in told
    assert behind_http(project, ASKED, calls="trace")["asked"].passed


def test_a_body_that_no_first_message_fits_is_the_suites_fault(project: Project) -> None:
    """The place and the server's own words are told."""
    found = behind_http(project, IDLE, ASKED, calls="trace", body={"text": "$message"})

    assert {(one.verdict.value, one.blame) for one in found.values()} == {("error", "scenario")}
    told = found["asked"].error or ""
    assert told.startswith("bench/agentbench.yaml:")
    assert "agent.http.body: the endpoint does not take the request" in told
    assert "Field required" in told


def test_the_state_after_calls_that_the_suite_cannot_make_is_not_measured(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report, `doctor` and `validate` say why; a rule that asks for such a call makes no scenario invalid."""
    first = {
        "id": "first",
        "text": "Look first.",
        "rule": {"before": {"calls": ["cancel_order"], "first": ["get_order"]}},
    }
    project.write("bench/orders.json", '{"orders": {"W2": "open"}}')
    write(project, ASKED, READ, environment={"state": {"json": "orders.json"}})

    found = results(project)

    assert {name: (one.verdict, [part.part for part in one.unmeasured]) for name, one in found.items()} == {
        "asked": ("passed", ["state"]),
        "read": ("passed", []),
    }
    (told,) = found["asked"].unmeasured
    assert "no tool to make the expected calls" in told.why
    assert "cancel_order left the state as it was" in told.why
    assert "`environment: {tools: my_tools}`" in told.cure

    write(project, ASKED, environment={"state": {"json": "orders.json"}}, policies=[first])
    suite = str(project.pytester.path / "bench" / "agentbench.yaml")
    main(["doctor", suite])
    assert "no tool to make the expected calls" in " ".join(capsys.readouterr().out.split())
    main(["validate", suite])
    out = capsys.readouterr().out
    assert "1 of 1 scenario valid" in out
    assert "asked: a right run: a rule asks for an earlier call of a tool that nobody describes" in out
