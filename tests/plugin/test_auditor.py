"""The auditor in sessions: when it is asked, what its word counts for, and how every report shows what it saw."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.checks.measurement import LET_ANSWER
from pytest_agentbench.cli import main
from pytest_agentbench.core.run import Result
from pytest_agentbench.results.document import comparable, read
from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, call, fault, structured
from tests.plugin.auditing import REFUNDED, THANKS, auditor, observations, polite, unborne
from tests.plugin.models_project import SCRIPT, agent, models_suite
from tests.plugin.project import TWO_WORKERS, Project

JUDGE = {"judge": {"llm": {"model": "judge"}}}
POLITE = [{"id": "polite", "text": "Be polite.", "challenge": 1}]
ASKS = [{"id": "asks", "text": "Ask first.", "rule": {"confirm_before": {"calls": ["refund"]}}}]
FLAGGED = observations(claims=[unborne()])
PLAYED = observations(user_turns=[{"turn": 3, "quote": THANKS, "kind": "plays agent"}])
CURT = observations(policies=[polite(violated=True)])


def audited_suite(project: Project, base_url: str, *, count: int = 2, **keys: Any) -> None:
    """Write a suite of refunds with a judge; where it has the policy `polite`, each lists it."""
    models_suite(project, base_url, count=count, **{**JUDGE, **keys})
    if keys.get("policies") == POLITE:
        change(project, lambda suite: [one.update(policies=["polite"]) for one in suite["scenarios"]])


def change(project: Project, by: Any) -> None:
    """Change the suite file."""
    file = project.pytester.path / "bench/agentbench.yaml"
    suite = json.loads(file.read_text())
    by(suite)
    file.write_text(json.dumps(suite, indent=1))


def kinds(result: Result) -> list[str]:
    """What a run's flags are about."""
    return [flag.kind for flag in result.flags]


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        ({}, True),  # a model plays the user
        ({"auditor": "off"}, False),
        ({"user": "scripted"}, False),
        ({"user": "scripted", "auditor": "flags"}, True),
        ({"user": "scripted", "auditor": "decide"}, True),
        ({"user": "scripted", "policies": POLITE}, True),
        ({"user": "scripted", "policies": POLITE, "auditor": "off"}, False),
    ],
)
def test_it_is_asked_once_a_run_where_it_is_needed_or_wanted(
    project: Project, keys: dict[str, Any], asked: bool
) -> None:
    """A role of its own in the table of calls, which the estimate counts; `off` asks never."""
    seen = observations(policies=[polite(violated=False)] if "policies" in keys else [])
    seen["consents"][0]["quote"] = "W1" if keys.get("user") == "scripted" else "I would like a refund"
    if keys.get("user") == "scripted":
        seen["user_satisfied"] = {"turn": 2, "quote": REFUNDED, "shows": True}
    with ModelServer({**SCRIPT, "judge": auditor(seen)}) as server:
        audited_suite(project, server.base_url, count=1, **keys)
        if keys.get("user") == "scripted":
            change(project, lambda suite: suite["scenarios"][0].update(says=[{"request": "Refund W1"}]))
        result = project.run()
        questions = [one for one in server.requests if one.model == "judge"]

    (one,) = project.document.results
    assert (len(questions), one.audit is not None, "auditor" in one.usage) == (int(asked), asked, asked)
    assert bool(re.search(r"model calls .*auditor 1,", result.stdout.str())) is asked
    turns, user = 40, 164 if "user" not in keys else 0
    most = turns + 60 + user + 4 * asked
    result.stdout.fnmatch_lines([f"*at most 40 agent turns, {most} model calls*"])


@pytest.mark.parametrize(("mode", "verdict"), [(None, "passed"), ("flags", "passed"), ("decide", "failed")])
def test_what_it_sees_alone_is_a_flag_until_the_suite_says_otherwise(
    project: Project, mode: str | None, verdict: str
) -> None:
    """A violated policy counts in its rate always; it fails the run, and stands in a gate, where it decides."""
    keys = {"auditor": mode, "gates": ["policy.polite >= 0.9"]} if mode == "decide" else {"auditor": mode or "flags"}
    if mode is None:
        keys = {}
    with ModelServer({**SCRIPT, "judge": auditor(CURT)}) as server:
        audited_suite(project, server.base_url, policies=POLITE, **keys)
        result = project.run()

    results = project.document.results
    assert {(str(one.verdict), one.rests_on_auditor) for one in results} == {(verdict, mode == "decide")}
    assert {(out.policy, out.exercised, out.kept) for one in results for out in one.policies} == {
        ("polite", True, False)
    }
    assert {tuple(kinds(one)) for one in results} == {() if mode == "decide" else ("policy",)}
    assert result.ret == (1 if mode == "decide" else 0)
    if mode == "decide":
        result.stdout.fnmatch_lines(["*policy.polite >= 0.9*0.00*2*FAILED [[]uncalibrated[]]*"])


def test_uncalibrated_stands_beside_every_verdict_that_rests_on_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the failure's text, the terminal, JUnit, Markdown and HTML."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    with ModelServer({**SCRIPT, "judge": auditor(CURT)}) as server:
        audited_suite(project, server.base_url, policies=POLITE, auditor="decide")
        result = project.run("--junitxml=j.xml", "--agentbench-html=r.html", "--agentbench-markdown=r.md")

    result.stdout.fnmatch_lines(["::error *title=s1 failed (uncalibrated)::polite*"])
    result.stdout.fnmatch_lines(
        [
            "s1 failed (uncalibrated): polite, turn 2: It sounds curt.*",
            "*rests on the auditor*",
            "*uncalibrated: `agentbench calibrate` has not compared it with labelled runs*",
            "    s1 *[[]uncalibrated[]]",
            "auditor *2 of 2 runs · 2 rest on it · uncalibrated: *",
        ]
    )
    root = project.pytester.path
    assert (root / "j.xml").read_text().count('name="agentbench.auditor" value="uncalibrated"') == 2
    assert (root / "r.md").read_text().count("**uncalibrated**") == 2
    assert (root / "r.html").read_text().count('"noted":"uncalibrated"') == 2


@pytest.mark.parametrize(
    ("figures", "told", "beside"),
    [
        ({"runs": 60, "false_alarms": 0}, "calibrated: no false alarm on 60 labelled runs (at most 6 %, 95 %)", False),
        (
            {"runs": 49, "false_alarms": 0},
            "no false alarm on 49 labelled runs (at most 7 %, 95 %); 50 are needed",
            True,
        ),
        ({"runs": 60, "false_alarms": 1}, "uncalibrated: 1 false alarm on 60 labelled runs (at most 9 %, 95 %)", True),
        (
            {"runs": 60, "false_alarms": 0, "parts": {"model": "older", "prompt": "auditor.v0"}},
            "uncalibrated: no false alarm on 60 labelled runs (at most 6 %, 95 %); it was older, auditor.v0 then",
            True,
        ),
        (
            {"runs": 60, "false_alarms": 0, "parts": {"model": ""}},
            "uncalibrated: no false alarm on 60 labelled runs (at most 6 %, 95 %); it was another then",
            True,
        ),
        ({"runs": "many"}, "uncalibrated: `agentbench calibrate` has not compared it", True),
        ({"runs": 10**400, "false_alarms": 0}, "uncalibrated: `agentbench calibrate` has not compared it", True),
        (None, "uncalibrated: `agentbench calibrate` has not compared it", True),
    ],
)
def test_it_is_calibrated_by_runs_that_the_team_labelled(
    project: Project, figures: Any, told: str, beside: bool
) -> None:
    """Fifty without a false alarm; the upper bound is printed."""
    with ModelServer({**SCRIPT, "judge": auditor(CURT)}) as server:
        judge = {"llm": {"model": "judge"}, "calibration": "figures.json"}
        audited_suite(project, server.base_url, count=1, policies=POLITE, auditor="decide", judge=judge)
        if figures is not None:
            project.write("bench/figures.json", json.dumps({"auditor": figures}))
        result = project.run()

    text = " ".join(result.stdout.str().split())
    assert told in text
    assert ("failed (uncalibrated):" in text) is beside
    assert ("[uncalibrated]" in text) is beside


@pytest.mark.parametrize("times", [1, 2])
def test_a_disputed_run_is_scored_marked_and_played_again_once(project: Project, times: int) -> None:
    """Nothing is voided; whether the first attempt passed is not asked."""
    left = [times]

    def judge(request: ModelRequest) -> Answer:
        left[0] -= 1
        return auditor(PLAYED if left[0] >= 0 else None)(request)

    with ModelServer({**SCRIPT, "judge": judge}) as server:
        audited_suite(project, server.base_url, count=1)
        result = project.run("-v", "--agentbench-markdown=r.md", "--agentbench-html=r.html")

    (one,) = project.document.results
    (first,) = project.document.retried
    assert (one.key.attempt, one.scored, bool(one.disputed)) == (2, True, times == 2)
    assert (first.scored, bool(first.disputed)) == (True, True)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"disputed *{times - 1} run*1 played again*"])
    assert ("PASSED (disputed)" in result.stdout.str()) is (times == 2)
    assert "disputed" in (project.pytester.path / "r.md").read_text()


def test_a_disputed_run_of_a_script_is_not_played_again(project: Project) -> None:
    """Its user would say the same; the run is marked as any other."""
    seen = observations(
        consents=[{"turn": 1, "quote": "W1", "call": 1, "consent": "given"}],
        user_turns=[{"turn": 1, "quote": "Refund W1", "kind": "plays agent"}],
        user_satisfied={"turn": 2, "quote": REFUNDED, "shows": True},
    )
    with ModelServer({**SCRIPT, "judge": auditor(seen)}) as server:
        audited_suite(project, server.base_url, count=1, user="scripted", auditor="flags")
        change(project, lambda suite: suite["scenarios"][0].update(says=[{"request": "Refund W1"}]))
        result = project.run()

    (one,) = project.document.results
    assert (one.key.attempt, one.scored, bool(one.disputed)) == (1, True, True)
    assert project.document.retried == ()
    result.stdout.fnmatch_lines(["disputed *1 run (scored; the user may be at fault)"])


def test_its_figures_are_lines_of_every_report(project: Project) -> None:
    """Satisfied yet failed, share of users that play the agent, flags by kind with the first words."""

    def hasty(request: ModelRequest) -> Answer:
        given = agent(request)
        return call("refund", order_id="W0") if given.calls and "W2" in str(request.messages) else given

    seen = {**FLAGGED, "user_turns": PLAYED["user_turns"]}
    with ModelServer({**SCRIPT, "agent": hasty, "judge": auditor(seen)}) as server:
        audited_suite(project, server.base_url, auditor="flags")
        result = project.run("--agentbench-markdown=r.md", "--agentbench-html=r.html")

    result.stdout.fnmatch_lines(
        [
            "auditor *2 of 2 runs*",
            "satisfied yet failed *1 of 2 runs with a satisfied user*",
            "plays_agent *2 of 2 runs (100 %): the user spoke as the agent*",
            "flags of the auditor (they decide nothing)",
            "  claim 2 in 2 runs, the first: s1, turn 2: *supported by nothing, *",
        ]
    )
    root = project.pytester.path
    for text in ((root / "r.md").read_text(), (root / "r.html").read_text()):
        assert "satisfied yet failed" in text
        assert "1 of 2 runs with a satisfied user" in text


def test_without_one_no_report_speaks_of_it(project: Project) -> None:
    """Neither lines nor marks."""
    project.suite("one")

    result = project.run("-v", "--agentbench-markdown=r.md")

    for text in (result.stdout.str(), (project.pytester.path / "r.md").read_text()):
        assert not re.search(r"auditor  |plays_agent|disputed|calibrated", text)


@pytest.mark.parametrize("why", [pytest.param("unreachable", marks=pytest.mark.slow), "no judge"])
def test_what_it_cannot_tell_is_not_measured_and_a_part_only_where_it_is_asked_for(project: Project, why: str) -> None:
    """The verdict of the code stands."""
    arguments = ["-oagentbench_judge=false"] if why == "no judge" else []
    parts, cures = {}, set()
    for mode in (None, "flags"):
        with ModelServer({**SCRIPT, "judge": lambda _: fault.status(500)}) as server:
            audited_suite(project, server.base_url, count=1, **({"auditor": mode} if mode else {}))
            result = project.run(*arguments)
        result.assert_outcomes(passed=1)
        (one,) = project.document.results
        parts[mode] = [part.part for part in one.unmeasured]
        cures |= {part.cure for part in one.unmeasured}

    assert parts == {None: [], "flags": ["auditor"]}
    answer = {"unreachable": "run it again when the judge's model answers", "no judge": LET_ANSWER}
    assert cures == {answer[why]}
    result.stdout.no_fnmatch_line("*auditor, model*")


@pytest.mark.parametrize("workers", ["-n0", TWO_WORKERS])
def test_workers_and_replays_give_the_same_results(project: Project, workers: str) -> None:
    """Audits, flags, marks and standings cross processes, and a cassette gives them again without a server."""
    with ModelServer({**SCRIPT, "judge": auditor({**CURT, "claims": FLAGGED["claims"]})}) as server:
        audited_suite(project, server.base_url, count=4, policies=POLITE, auditor="decide")
        project.run("-n0", "--agentbench-cassette=record")
        live = project.comparable

    result = project.run(workers, "--agentbench-cassette=replay")

    assert result.ret == 1
    assert project.comparable == live
    result.stdout.fnmatch_lines(["auditor *4 of 4 runs · 4 rest on it · uncalibrated*"])


def recorded_suite(project: Project, base_url: str, **keys: Any) -> None:
    """Write a suite of one recorded refund, whose user's words nobody labelled."""
    tool = {"name": "refund", "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}}}
    made = {"id": "c", "type": "function", "function": {"name": "refund", "arguments": '{"order_id": "W1"}'}}
    said = [("user", "Refund W1, would you"), ("assistant", "Refund W1 now?"), ("user", "Nothing against that")]
    messages = [
        *({"role": role, "content": content} for role, content in said),
        {"role": "assistant", "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
        {"role": "assistant", "content": REFUNDED},
        {"role": "user", "content": THANKS},
    ]
    project.write("bench/tools.json", json.dumps([{"type": "function", "function": tool}]))
    project.write("bench/logs.jsonl", json.dumps({"id": "r1", "messages": messages}) + "\n")
    suite = {
        "agent": {"transcripts": "logs.jsonl"},
        "environment": {"tools": "tools.json", "writes": ["refund"]},
        "llm": {"base_url": base_url},
        "policies": ASKS,
        "scenarios": [{"id": "r1", "expect": [{"refund": {"order_id": "W1"}}]}],
        **keys,
    }
    project.write("bench/agentbench.yaml", json.dumps(suite, indent=1))


AGREED = observations(
    consents=[{"turn": 3, "quote": "Nothing against that", "call": 1, "consent": "given"}],
    tool_use={"turn": 4, "quote": REFUNDED, "use": "right"},
    agent_appropriate={"turn": 4, "quote": REFUNDED, "shows": True},
    user_satisfied={"turn": 5, "quote": THANKS, "shows": True},
)


def test_the_estimate_counts_what_a_poor_model_takes(project: Project) -> None:
    """No form, words that stand nowhere, no form again, and then an answer: no more calls than were told beforehand."""
    formless, nowhere = structured({**AGREED, "claims": "none"}), structured(observations())
    poor = [formless, nowhere, formless, structured(AGREED)]
    with ModelServer({"judge": poor}) as server:
        recorded_suite(project, server.base_url, **JUDGE)
        result = project.run()
        taken = len(server.requests)

    assert taken == 4
    result.stdout.fnmatch_lines(["*at most 4 model calls to judge them*"])
    (one,) = project.document.results
    assert [(out.policy, out.kept) for out in one.policies] == [("asks", True)]


@pytest.mark.parametrize("judged", [False, True])
def test_it_reads_the_consent_of_recordings_and_a_gate_may_ask_for_it(project: Project, judged: bool) -> None:
    """Labels do not tell, the auditor does; without one the gate is a collection error that names both ways."""
    with ModelServer({"judge": auditor(AGREED)}) as server:
        recorded_suite(project, server.base_url, gates=["policy.asks >= 0.9"], **(JUDGE if judged else {}))
        result = project.run()

    if not judged:
        assert result.parseoutcomes() == {"errors": 1}
        result.stdout.fnmatch_lines(["*agentbench.yaml:*gates*no recorded message of a user has `acts`*"])
        return
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*1 recorded, nothing is played, at most 4 model calls to judge them*"])
    (one,) = project.document.results
    assert [(out.policy, out.kept) for out in one.policies] == [("asks", True)]


def test_score_asks_it_as_pytest_does_and_shares_its_cassette(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What score records pytest replays, with the same results; `--no-judge` asks nobody."""
    with ModelServer({"judge": auditor(AGREED)}) as server:
        recorded_suite(project, server.base_url, auditor="flags", **JUDGE)
        monkeypatch.chdir(project.pytester.path)
        recorded = main(["score", "bench/agentbench.yaml", "--json", "score.json", "--cassette", "record"])
        asked = len(server.requests)
        without = main(["score", "bench/agentbench.yaml", "--json", "none.json", "--no-judge"])
        assert len(server.requests) == asked == 1
    told = capsys.readouterr().out
    result = project.run("bench", "--agentbench-json=pytest.json", "--agentbench-cassette=replay")

    assert (recorded, without, result.ret) == (0, 0, 0)
    assert "model calls  auditor 1" in told
    assert "1 of 1 run · 0 rest on it" in told
    assert "0 of 1 run with a satisfied user" in told
    ours, pytests = (read(Path(name)) for name in ("score.json", "pytest.json"))
    assert comparable(ours)["results"] == comparable(pytests)["results"]
    (none,) = read(Path("none.json")).results
    assert [part.part for part in none.unmeasured] == ["auditor", "policy asks"]
