"""Sessions in which models play: recorded, replayed, bounded, and never blamed on the agent for what is not its own."""

import re
from pathlib import Path

import pytest
import yaml

from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, fault, text
from tests.plugin.models_project import SCRIPT, agent, models_suite, user
from tests.plugin.project import TOOLS, TWO_WORKERS, Project

CASSETTE = "bench/agentbench.cassette.jsonl"


def replay(project: Project, *arguments: str) -> object:
    """Replay; give the results without times and places."""
    result = project.run("--agentbench-cassette=replay", *arguments)
    assert result.ret == 0, result.outlines
    return project.comparable


@pytest.mark.slow
def test_recordings_are_equal_and_replay_alike_however_they_are_run(project: Project) -> None:
    """Two processes record the same bytes as one; with the server gone all replays give the results of the recording.

    One by one, and all at once.
    """
    cassette = project.pytester.path / CASSETTE
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, gates=["success >= 1.0"])
        recording = project.run("--agentbench-cassette=record", "--agentbench-concurrency=3")
        live, alone = project.comparable, cassette.read_bytes()
        cassette.unlink()
        project.run("--agentbench-cassette=record", "-n2")
        assert cassette.read_bytes() == alone

        assert recording.ret == 0
        recording.stdout.fnmatch_lines(["cassette agentbench.cassette.jsonl: 24 recorded, 0 dropped"])

    one_by_one = replay(project, "--agentbench-concurrency=1")
    at_once = replay(project, "--agentbench-concurrency=64")
    assert one_by_one == at_once == live


@pytest.mark.parametrize("workers", ["-n0", TWO_WORKERS])
def test_what_was_not_recorded_is_skipped_where_the_suite_says_so(project: Project, workers: str) -> None:
    """Such runs are in no rate, gates hold of the rest, and the reason says how to record them; in two processes, too.

    There the results are those of one.
    """
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, gates=["success >= 1.0"], cassette={"unrecorded": "skip"})
        project.run("--agentbench-cassette=record", "-k", "s1 or s2")

    skipping = []
    for process in dict.fromkeys(("-n0", workers)):
        replayed = project.run("--agentbench-cassette=replay", "--agentbench-gates=auto", "-rs", process)
        skipping.append(project.comparable)
        replayed.assert_outcomes(passed=2, skipped=4)
        replayed.stdout.fnmatch_lines(
            ["all*2*2*100 %*", "*success >= 1.0*1.00*ok*", "SKIPPED*not recorded in agentbench.cassette.jsonl; --*"]
        )
    assert skipping[0] == skipping[-1]


def test_no_key_gets_into_any_file(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys in headers, arguments, environment, context and tool results stay out of all that is written."""
    keys = {"API": "zq-header-7741", "CTX": "zq-context-7742", "EXTRA": "zq-extra-7743", "BODY": "zq-body-7744"}
    for name, value in keys.items():
        monkeypatch.setenv(f"THE_{name}", value)
    tools = (
        TOOLS + '    # and one that gives the credential away\n\n\ndef token(context: dict) -> str:\n    """Show."""\n'
    )
    tools += '    return "the token is " + context["token"]\n'

    def leaky(request: ModelRequest) -> Answer:
        from pytest_agentbench.testing import call

        if request.messages[-1]["role"] == "user" and '"tool"' not in str(request.messages).replace("'", '"'):
            return call("token")
        return text(f"I was told {keys['CTX']} and {keys['API']}.") if "token is" in request.last else agent(request)

    with ModelServer({"agent": leaky, "user": user}) as server:
        reach = {"base_url": server.base_url, "api_key": "${THE_API}", "headers": {"X-Extra": "${THE_EXTRA}"}}
        models_suite(
            project,
            server.base_url,
            count=2,
            llm={**reach, "extra_body": {"metadata": {"tag": "${THE_BODY}"}}},
            context={"token": "${THE_CTX}"},
            tools=tools,
        )
        project.run("--agentbench-cassette=record", "-v", f"--agentbench-json={project.pytester.path}/out.json")
        sent = server.requests

    assert sent[0].headers["authorization"] == "Bearer zq-header-7741"
    assert sent[0].headers["x-extra"] == "zq-extra-7743"
    written = {path: path.read_bytes() for path in project.pytester.path.rglob("*") if path.is_file()}
    assert Path(project.pytester.path / CASSETTE) in written
    assert [(str(path), key) for path, data in written.items() for key in keys.values() if key.encode() in data] == []


@pytest.mark.parametrize("workers", [(), pytest.param(("-n2",), marks=pytest.mark.slow)], ids=["-n0", "-n2"])
def test_half_the_budget_stops_at_half(project: Project, workers: tuple[str, ...]) -> None:
    """A budget of half the calls is never passed; what did not fit is named, is no failure, and ends in status 1."""
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, count=8)
        result = project.run("-oagentbench_max_calls=16", "--agentbench-concurrency=2", *workers)
        asked = len(server.requests)

    results = project.document.results
    stopped = [one for one in results if one.not_run]
    assert result.ret == 1
    assert asked == 16
    assert 3 <= sum(one.passed for one in results) <= 4
    assert {one.not_run for one in stopped} == {"budget: the session's budget of 16 model calls is spent"}
    assert sum(one.passed for one in results) + len(stopped) == 8
    first = min(one.key.scenario for one in stopped)
    result.stdout.fnmatch_lines([f"*{first}, *not run: budget: the session's budget of 16 model calls is*"])


def test_a_budget_of_money_holds(project: Project) -> None:
    """What all calls cost stays within the budget, worst cases of calls in flight included."""
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, count=6)
        project.run()
        cost = sum(usage.cost_usd for one in project.document.results for usage in one.usage.values())

        result = project.run(f"-oagentbench_max_cost={cost / 2}", "--agentbench-concurrency=1")

    spent = sum(usage.cost_usd for one in project.document.results for usage in one.usage.values())
    assert result.ret == 1
    assert 0 < spent <= cost / 2
    assert {one.passed for one in project.document.results} == {True, False}


def test_a_run_that_passes_its_own_limit_stops_alone(project: Project) -> None:
    """`model_calls` of one scenario ends that run and no other."""
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, count=2)
        suite = project.pytester.path / "bench/agentbench.yaml"
        suite.write_text(suite.read_text().replace('"id": "s2",', '"id": "s2", "limits": {"model_calls": 2},'))
        result = project.run()

    ends = {one.key.scenario: (one.termination, one.stop_reason) for one in project.document.results}
    assert result.ret == 1
    assert ends["s1"][0] == "FINISHED"
    assert ends["s2"] == ("SAFETY_TIMEOUT", "the run's budget of 2 model calls is spent")


def test_a_budget_of_money_needs_prices(project: Project) -> None:
    """Nothing is asked when nobody knows what it costs."""
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, llm={"base_url": server.base_url})
        result = project.run("-oagentbench_max_cost=1")

        assert server.requests == []
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*a cost budget needs a price for model 'user' at http://127.0.0.1:*"])


def test_without_a_key_nothing_is_red(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that need a key which is not there are skipped, and the report says which variable is missing."""
    monkeypatch.delenv("THE_KEY", raising=False)
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, llm={"base_url": server.base_url, "api_key": "${THE_KEY}"})
        result = project.run("-rs")

        assert server.requests == []
    assert result.ret == 0
    result.assert_outcomes(skipped=6)
    result.stdout.fnmatch_lines(["*not run: no key for model 'user' at*the environment variable THE_KEY is not set*"])


def test_a_miss_is_the_providers_and_names_the_nearest(project: Project) -> None:
    """A prompt that changed since the recording fails the run without blaming the agent."""
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, count=1)
        project.run("--agentbench-cassette=record")
    suite = project.pytester.path / "bench/agentbench.yaml"
    suite.write_text(suite.read_text().replace("You refund orders.", "You refund things."))

    result = project.run("--agentbench-cassette=replay")

    (one,) = project.document.results
    assert (one.blame, one.termination) == (Blame.PROVIDER, "CRASHED")
    result.stdout.re_match_lines([".*s1, trial 1, role 'agent': .*message 1.*"])


def test_a_changed_tail_asks_for_the_tail_alone(project: Project) -> None:
    """What comes before the change is replayed; what follows is asked and takes the place of what was recorded."""
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, count=1)
        project.run("--agentbench-cassette=record")
        before = len(server.requests)
        tools = project.pytester.path / "bench/shop_tools.py"
        tools.write_text(tools.read_text().replace('"refunded"', '"paid back"'))

        result = project.run("--agentbench-cassette=record")

        assert before == 4
        assert len(server.requests) - before == 1
    result.stdout.fnmatch_lines(["model calls*agent 1 + 1 replayed*user 2 replayed*"])


MISBEHAVIOUR = {
    "429 with Retry-After": (fault.status(429, retry_after=0.01), "passed", None),
    "429": (fault.status(429), "passed", None),
    "500": (fault.status(500), "passed", None),
    "reset": (fault.reset(), "passed", None),
    "malformed": (fault.malformed(), "passed", None),
    "no choices": (fault.no_choices(), "error", "provider"),
    "wrong schema": (fault.raw('{"choices": [{"message": 5}]}'), "error", "provider"),
    "bad request": (fault.status(400), "error", "provider"),
    "not JSON arguments": ("arguments", "failed", "agent"),
    "unknown tool": ("tool", "failed", "agent"),
    "surrogates": (text("half a pair \udc00 of surrogates"), "failed", "agent"),
    "10 MB": (fault.big(10), "error", "user"),  # the scripted user thanks for what nobody did
}
"""What the model server does to the agent's first request of one run, and what becomes of that run."""


@pytest.mark.parametrize("name", MISBEHAVIOUR)
def test_no_misbehaviour_loses_or_misblames_a_run(project: Project, name: str) -> None:
    """The run that is hit ends as the table says, and passes when it is played again; those beside it pass."""
    from pytest_agentbench.testing import call

    given, verdict, blame = MISBEHAVIOUR[name]
    answers = {"arguments": call("refund", "{order: W1"), "tool": call("repay", order_id="W1")}
    answer = answers.get(given, given) if isinstance(given, str) else given
    hit: list[int] = []

    def misbehaving(request: ModelRequest) -> object:
        if "W1" in str(request.messages) and not re.search(r"W1\d", str(request.messages)) and not hit:
            hit.append(1)
            return answer
        if isinstance(given, str) and request.messages[-1]["role"] == "tool":
            return text("I could not do it.")
        return agent(request)

    with ModelServer({"agent": misbehaving, "user": user}) as server:
        models_suite(project, server.base_url, count=4)
        project.run()

    results = {one.key.scenario: one for one in project.document.results}
    first = next((one for one in project.document.retried if one.key.scenario == "s1"), results["s1"])
    assert len(results) == 4
    assert (first.verdict, first.blame) == (verdict, blame)
    assert first is results["s1"] or results["s1"].passed
    if not isinstance(given, str):
        assert {results[f"s{number}"].verdict for number in (2, 3, 4)} == {"passed"}


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        *(
            (f"max_cost = {value}", "US dollars, from 0 to less than a billion")
            for value in ("nan", "inf", "1e9", "-1")
        ),
        *((f"max_calls = {one}", "a whole number, from 0 to less than 2**62") for one in (2**62, "1.5")),
        ("judge = maybe", "true or false"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(project: Project, setting: str, expected: str) -> None:
    """The message names the setting, what was found and what is allowed."""
    project.suite("a")
    project.write("pytest.ini", f"[pytest]\nagentbench_{setting}\n")

    result = project.run()

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    name, _, value = setting.partition(" = ")
    result.stderr.fnmatch_lines([f"*agentbench_{name}: *{value}*, expected {expected}"])


def test_a_broken_cassette_is_one_error(project: Project) -> None:
    """It is told when the suite is collected, with every line that is wrong, and no run is begun."""
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url)
        project.run("--agentbench-cassette=record")
    cassette = project.pytester.path / CASSETTE
    lines = cassette.read_text().splitlines()
    cassette.write_text("\n".join([lines[0], "{broken", *lines[2:]]) + "\n")

    result = project.run("--agentbench-cassette=replay")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*agentbench.cassette.jsonl:2:*"])
    result.stdout.no_fnmatch_line("*CRASHED*")
    assert project.run("--agentbench-cassette=off", "--co").ret == 0


def test_modifiers_of_a_scenario_need_a_user_that_a_model_plays(project: Project) -> None:
    """The scripted user has none: each that the scenario lists is shown as left out."""
    scenario = {
        "id": "s1",
        "says": ["Refund W1"],
        "modifiers": ["impatient"],
        "expect": [{"refund": {"order_id": "W1"}}],
    }
    project.suite("late")
    suite = project.pytester.path / "bench/agentbench.yaml"
    form = yaml.safe_load(suite.read_text())
    suite.write_text(yaml.safe_dump({**form, "scenarios": [scenario]}))

    project.run()

    (result,) = project.document.results
    left_out = [finding.message for finding in result.findings if finding.check == "modifier impatient"]
    assert left_out == ["the modifier 'impatient' was left out: the user is scripted; `user: llm` applies modifiers"]


def test_latencies_are_kept_call_by_call(project: Project) -> None:
    """The median and the 95th percentile of each role are told, of calls that were answered live alone."""
    slow = {**SCRIPT, "user": lambda request: user(request).after(0.2)}
    with ModelServer(slow) as server:
        models_suite(project, server.base_url, count=2)
        live = project.run("--agentbench-cassette=record")
    usage = [result.usage for result in project.document.results]
    replayed = project.run("--agentbench-cassette=replay")

    assert [len(one["user"].latencies) for one in usage] == [2, 2]
    assert min(seconds for one in usage for seconds in one["user"].latencies) >= 0.2
    assert max(seconds for one in usage for seconds in one["agent"].latencies) < 0.2
    live.stdout.fnmatch_lines(["latency*agent median * s, p95 * s*user median 0.2* s, p95 0.2* s*"])
    replayed.stdout.no_fnmatch_line("latency*")
    assert all(not one.latencies for result in project.document.results for one in result.usage.values())


def test_what_a_spoilt_attempt_took_is_counted(project: Project) -> None:
    """A user that cannot be used spoils a run, which is played again: both attempts were asked and paid for."""
    spoilt = {**SCRIPT, "user": lambda _: ""}
    with ModelServer(spoilt) as server:
        models_suite(project, server.base_url, count=1)

        result = project.run()

        assert [request.model for request in server.requests] == ["user"] * 4
    result.stdout.fnmatch_lines(["model calls*user 4, *"])


@pytest.mark.parametrize(("status", "asked"), [(401, 1), (403, 1), (400, 8)])
def test_a_run_whose_key_is_refused_is_not_played_again(project: Project, status: int, asked: int) -> None:
    """The answer would be the same; another refusal may come of what a model said, and the next may differ.

    One that names no field may be about the form of the answer: each of the four is tried.
    """
    with ModelServer({**SCRIPT, "user": lambda _: fault.status(status)}) as server:
        models_suite(project, server.base_url, count=1)

        project.run()

        assert [request.model for request in server.requests] == ["user"] * asked
    [result] = project.document.results
    assert (str(result.verdict), str(result.blame)) == ("error", "provider")
