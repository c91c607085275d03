"""Sessions with a judge: rubrics, endings that are not true, and sessions without; the auditor has its own tests."""

import json
import re
from collections.abc import Callable

import pytest

from pytest_agentbench.checks.measurement import LET_ANSWER
from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, fault, structured, text
from tests.plugin.auditing import observations, polite
from tests.plugin.models_project import SCRIPT, models_suite, user
from tests.plugin.project import Project

RUBRIC = [
    {"id": "clear", "text": "The agent says clearly what it did.", "label": "POS", "weight": 6},
    {"id": "pushy", "text": "The agent presses the user.", "label": "NEG", "weight": 4},
    {"id": "no-errors", "text": "No tool failed.", "check": "tool_errors == 0"},
]
POLICIES = [{"id": "polite", "text": "Be polite.", "challenge": 1}]


def judge(
    scores: dict[str, int], *, quote: str = "It is refunded.", ended: bool = True
) -> Callable[[ModelRequest], Answer]:
    """Give a judge model that scores as told, whatever form it is asked for."""

    def answer(request: ModelRequest) -> Answer:
        asked = request.body["response_format"]["json_schema"]["name"]
        shown = {"evidence": [{"turn": 2, "quote": quote}], "reason": "so it is"}
        if asked == "Observations":
            return structured(observations(policies=[polite(violated=False)] if "`polite`" in request.system else []))
        if asked == "RubricVerdicts":
            given = [{"criterion": name, "applies": True, **shown, "score": score} for name, score in scores.items()]
            return structured({"verdicts": given})
        return structured({**shown, "ended": ended, "feedback": "" if ended else "The agent has not answered yet."})

    return answer


def judged_suite(project: Project, base_url: str, **keys: object) -> None:
    """Write a suite of two refunds with a judge."""
    models_suite(project, base_url, count=2, judge={"llm": {"model": "judge"}}, rubric=RUBRIC, **keys)
    suite = project.pytester.path / "bench/agentbench.yaml"
    if "policies" in keys:
        suite.write_text(suite.read_text().replace('"id": "s', '"policies": ["polite"], "id": "s'))


def test_a_judge_is_asked_last_and_replays(project: Project) -> None:
    """Scores become findings and metrics, its calls are counted, and a replay asks nobody."""
    with ModelServer({**SCRIPT, "judge": judge({"clear": 9, "pushy": 0})}) as server:
        judged_suite(project, server.base_url)
        result = project.run("--agentbench-cassette=record")
        live = project.comparable
    assert result.ret == 0, result.outlines
    result.stdout.fnmatch_lines(["model calls*auditor 2,*judge 2,*"])
    assert {one.players["judge"] for one in project.document.results} == {"llm:judge"}

    replayed = project.run("--agentbench-cassette=replay", "--agentbench-concurrency=1")

    assert replayed.ret == 0
    assert project.comparable == live


def test_a_rubric_fails_a_run_that_passed_so_far(project: Project) -> None:
    """What a judge finds is the agent's fault."""
    with ModelServer({**SCRIPT, "judge": judge({"clear": 0, "pushy": 10})}) as server:
        judged_suite(project, server.base_url)
        project.run()

    assert {(str(one.verdict), str(one.blame)) for one in project.document.results} == {("failed", "agent")}
    assert {
        finding.kind for one in project.document.results for finding in one.findings if finding.passed is False
    } >= {"rubric"}


def test_a_must_that_does_not_hold_is_told_with_the_turn_that_shows_it(project: Project) -> None:
    """Clear words make up for nothing; the report names the criterion, and quotes."""
    rubric = [{"id": "told", "text": "The agent tells the amount.", "must": True}, RUBRIC[0]]
    with ModelServer({**SCRIPT, "judge": judge({"told": 0, "clear": 10})}) as server:
        models_suite(project, server.base_url, count=1, judge={"llm": {"model": "judge"}}, rubric=rubric)
        result = project.run()

    result.stdout.fnmatch_lines(["*told must be true and is not, score 1.00: so it is (turn 2: 'It is refunded.')*"])
    (failed,) = project.document.results
    assert (str(failed.verdict), str(failed.blame)) == ("failed", "agent")
    assert (failed.metrics["rubric_must.told"], failed.metrics["rubric_score"]) == (0, 1)


@pytest.mark.parametrize(("sees", "shows"), [({}, True), ({"sees": "conversation"}, False)])
def test_a_judge_sees_goal_policies_and_effects_and_never_the_expected_calls(
    project: Project, sees: dict[str, str], shows: bool
) -> None:
    """What should become of the data is what the expected calls lead to; the suite may leave all of it out."""
    with ModelServer({**SCRIPT, "judge": judge({"clear": 9, "pushy": 0})}) as server:
        judged_suite(project, server.base_url, policies=POLICIES)
        file = project.pytester.path / "bench/agentbench.yaml"
        suite = json.loads(file.read_text())
        suite["judge"] |= sees
        told = {"communicate": ["refunded"], "persona": "PRIVATE", "instructions": "PRIVATE", "knows": {"a": "PRIVATE"}}
        suite["scenarios"] = [one | told for one in suite["scenarios"]]
        file.write_text(json.dumps(suite))
        project.run()

        asked = [one for one in server.requests if "- `clear`" in one.system]

    assert len(asked) == 2
    for request in asked:
        parts = request.last.split("# The agent's instructions")[0]
        order = next(name for name in ("W1", "W2") if name in request.last)
        wanted = [
            "# What the user wants",
            f"| Get order {order} refunded.",
            "# Policies that the agent has to keep",
            "| Be polite.",
            "# How the stored data differ after a right run",
            f'| orders.{order}.status: "delivered" became "refunded"',
            "# What the agent has to tell",
            "| refunded",
        ]
        assert parts.splitlines()[1:] == (wanted if shows else [])
        assert "PRIVATE" not in request.last + request.system


def test_of_several_right_ways_the_judge_sees_the_effects_of_the_one_that_was_gone(project: Project) -> None:
    """The others would call a right run wrong."""
    with ModelServer({**SCRIPT, "judge": judge({"clear": 9, "pushy": 0})}) as server:
        judged_suite(project, server.base_url)
        file = project.pytester.path / "bench/agentbench.yaml"
        suite = json.loads(file.read_text())
        ways = [[{"refund": {"order_id": f"W{number}"}}] for number in (0, 1)]
        suite["scenarios"] = [{"id": "s1", "goal": "Get order W1 refunded.", "expect_any": ways}]
        file.write_text(json.dumps(suite))
        result = project.run()

        (asked,) = [one for one in server.requests if "- `clear`" in one.system]

    result.assert_outcomes(passed=1)
    expected = asked.last.partition("# How the stored data differ after a right run\n")[2]
    assert expected.startswith('| orders.W1.status: "delivered" became "refunded"\n# ')


def test_evidence_that_does_not_exist_is_refused(project: Project) -> None:
    """A judge that makes quotes up twice cannot be used: its part is not measured, and the verdict stands."""
    with ModelServer({**SCRIPT, "judge": judge({"clear": 9, "pushy": 0}, quote="Never said so.")}) as server:
        judged_suite(project, server.base_url)
        project.run()

    for one in project.document.results:
        assert (str(one.verdict), one.blame, [part.part for part in one.unmeasured]) == ("passed", None, ["rubric"])


@pytest.mark.slow
def test_a_judges_server_that_fails_leaves_the_conversations_verdict_standing(project: Project) -> None:
    """What code found of a finished conversation is not lost; only what was asked of the judge is not measured."""
    with ModelServer({**SCRIPT, "judge": lambda _: fault.status(500)}) as server:
        judged_suite(project, server.base_url, policies=POLICIES)
        result = project.run()

    result.assert_outcomes(passed=2)
    for one in project.document.results:
        assert (str(one.verdict), str(one.termination)) == ("passed", "FINISHED")
        assert [part.part for part in one.unmeasured] == ["rubric", "policy polite"]
        assert all(part.cure for part in one.unmeasured)


@pytest.mark.parametrize("critique", [0, 1, 2])
def test_an_ending_that_is_not_true_is_taken_back_as_often_as_the_suite_says(project: Project, critique: int) -> None:
    """Not at all unless it says so. The lines that the critic objects to are never sent; the run says how many."""
    closings = []

    def closing(request: ModelRequest) -> Answer:
        if "was not sent, because it is not over" in request.last:
            closings.append(request.last)
        return user(request)

    with ModelServer({**SCRIPT, "user": closing, "judge": judge({"clear": 9, "pushy": 0}, ended=False)}) as server:
        keys = {"user": {"llm": {"model": "user"}, "critique": critique}} if critique else {}
        judged_suite(project, server.base_url, **keys)
        result = project.run("--agentbench-concurrency=1")

    assert result.ret == 0, result.outlines
    assert len(closings) == 2 * critique
    assert all("The agent has not answered yet." in line for line in closings)
    told = [(one.metrics.get("resumed"), "critique" in one.usage) for one in project.document.results]
    assert told == [(critique or None, bool(critique))] * 2
    if critique:
        times = 2 * critique
        text = " ".join(result.stdout.str().split())
        assert f"critique 2 of 2 runs went on ({times} times in all) · these: 0 of 2 not scored, " in text
        assert re.search(r"[\d.]+ model calls a run, [\d.]+ without it", text)
        assert "others:" not in text
    else:
        result.stdout.no_fnmatch_line("critique *")


def test_an_ending_that_could_not_be_checked_is_counted(project: Project) -> None:
    """It stands, and the report says of how many nobody knows."""
    usable = judge({"clear": 9, "pushy": 0})

    def unusable(request: ModelRequest) -> Answer:
        name = request.body.get("response_format", {}).get("json_schema", {}).get("name", "EndVerdict")
        return usable(request) if name != "EndVerdict" else text("It is over, I think.")

    with ModelServer({**SCRIPT, "judge": unusable}) as server:
        judged_suite(project, server.base_url, user={"llm": {"model": "user"}, "critique": 1})
        result = project.run()

    assert result.ret == 0, result.outlines
    told = " ".join(result.stdout.str().split())
    assert "critique 0 of 2 runs went on (0 times in all) · 2 endings could not be checked · others: 0 of 2" in told


def test_a_suite_that_needs_a_judge_says_so(project: Project) -> None:
    """Without a judge nothing runs, unless what it would judge may stay unmeasured."""
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, count=1, rubric=RUBRIC)
        refused = project.run()
        accepted = project.run("-oagentbench_judge=false")

    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*the criterion 'clear' needs a judge; add `judge: {llm: {model: *"])
    assert accepted.ret == 0


def test_no_judge_asks_none(project: Project) -> None:
    """`agentbench_judge = false` leaves a judge that is there alone."""
    with ModelServer({**SCRIPT, "judge": lambda _: text("nobody asked")}) as server:
        judged_suite(project, server.base_url, policies=POLICIES)
        result = project.run("-oagentbench_judge=false")

        assert {request.model for request in server.requests} == {"agent", "user"}
    assert result.ret == 0
    assert {part.cure for one in project.document.results for part in one.unmeasured} == {LET_ANSWER}


def test_a_session_is_not_judged_by_a_judge_without_figures(project: Project) -> None:
    """It stops before anything runs; without judges it runs."""
    with ModelServer(SCRIPT) as server:
        models_suite(
            project,
            server.base_url,
            count=1,
            judge={"llm": {"model": "judge"}, "calibration": {"file": "figures.json", "kappa": 0.6}},
            rubric=RUBRIC,
        )
        refused = project.run()
        asked = len(server.requests)
        without = project.run("-oagentbench_judge=false")

    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        ["*its judge is not calibrated: there is no *figures.json; run `agentbench calibrate*"]
    )
    assert asked == 0
    assert without.ret == 0


def test_a_judge_is_shown_notes_on_calls_where_the_suite_says_so(project: Project) -> None:
    """How each call went and where its arguments came from; not unless it is asked for."""
    shown: list[bool] = []
    with ModelServer({**SCRIPT, "judge": judge({"clear": 9, "pushy": 0})}) as server:
        for notes in ({"notes": True}, {}):
            models_suite(project, server.base_url, count=1, judge={"llm": {"model": "judge"}, **notes}, rubric=RUBRIC)
            project.run()
            asked = [str(one.messages) for one in server.requests if one.body["model"] == "judge"]
            shown.append("was said by the user" in asked[-1])

    assert shown == [True, False]
