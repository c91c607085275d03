"""What an agent's service keeps between runs: it is started and reset; where it is not there, no agent is at fault."""

import json
import socket
import textwrap

import pytest

from pytest_agentbench.core.verdict import Blame
from pytest_agentbench.testing import ModelServer
from tests.plugin.project import Project

SERVICE = """
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TAKEN = []


class Desk(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({"reply": "up"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/reset":
            TAKEN.clear()
            return self.answer({}, 200 if self.headers.get("X-Key") == "k" else 403)
        if self.headers.get("X-Key") != "k":
            return self.answer({"error": "who are you?"}, 401)
        TAKEN.append(json.loads(body)["message"])
        if TAKEN[-1].startswith("Break"):
            raise RuntimeError("no desk " + self.headers["X-Key"] * 2)
        self.answer({"reply": f"You have {len(TAKEN)}."})

    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Desk).serve_forever()
"""

NAMES = ["first", "second", "third"]
SERVE = {"command": ["{python}", "service.py", "{port}"]}


def suite(project: Project, name: str = "agentbench.yaml", **http: object) -> None:
    """Write a suite of three runs that each are to find an untouched world."""
    project.write("bench/service.py", SERVICE)
    endpoint = {"url": "http://127.0.0.1:{port}/chat", "headers": {"X-Key": "k"}, **http}
    scenarios = [{"id": name, "says": ["One, please."], "communicate": ["You have 1."]} for name in NAMES]
    environment = {"environment": {"state": {"json": "state.json"}}} if "calls" in http else {}
    keys = {"agent": {"http": endpoint}, **environment, "scenarios": scenarios}
    project.write(f"bench/{name}", json.dumps(keys))


@pytest.mark.parametrize("workers", ["-n0", pytest.param("-n2", marks=pytest.mark.slow)])
def test_every_run_begins_in_the_first_state(project: Project, workers: str) -> None:
    """In a service of its own, and in one that all share and that is reset while nobody else uses it."""
    suite(project, "each.agentbench.yaml", serve=SERVE)
    suite(project, "reset.agentbench.yaml", serve={**SERVE, "share": "session"}, reset="POST /reset")

    result = project.run("bench", workers)

    result.assert_outcomes(passed=6)
    assert len(project.document.results) == 6


def test_what_is_never_reset_is_seen_by_the_next_run(project: Project) -> None:
    """Without `reset`, runs of a shared service meet what others left; a warning says so."""
    suite(project, serve={**SERVE, "share": "session"})

    project.run("bench", "-W", "default")

    assert sorted(project.verdicts().values()) == ["failed", "failed", "passed"]


CLOSED: dict[str, tuple[dict[str, object], str]] = {
    "nobody there": ({"url": "http://127.0.0.1:9/chat"}, "cannot be reached"),
    "a wrong key": ({"serve": SERVE, "headers": {"X-Key": "other"}}, "401"),
    "a refused reset": (
        {"serve": SERVE, "headers": {"X-Key": "other"}, "reset": "POST /reset"},
        "/reset answered 403",
    ),
}
"""Endpoints that let nobody in, and what is said of each."""


def test_an_endpoint_that_never_let_anybody_in_is_not_the_agents_fault(project: Project) -> None:
    """The session is red, and no run counts against the agent."""
    for name, (http, _) in CLOSED.items():
        suite(project, f"{name}.agentbench.yaml", **http)

    result = project.run("bench")

    for name, (_, says) in CLOSED.items():
        told = [run for run in project.document.results if name in run.key.suite]
        assert {(run.verdict, run.blame) for run in told} == {("error", Blame.ENVIRONMENT)}, name
        assert all(says in " ".join(finding.message for finding in run.findings) for run in told), name
        result.stdout.fnmatch_lines([f"*{says}*"])
    assert result.ret == 1


def test_a_service_that_starts_the_second_time_fails_no_run(project: Project) -> None:
    """What it needs may not be up yet when it is started first."""
    wait = "import pathlib, sys; first = pathlib.Path('first.txt'); there = first.exists(); first.touch()"
    start = "exec(open('service.py').read()) if there else sys.exit('no database yet')"
    suite(project, serve={"command": ["{python}", "-c", f"{wait}; {start}", "{port}"]})

    project.run("bench")

    assert {run.verdict for run in project.document.results} == {"passed"}


def test_a_service_that_never_starts_is_tried_twice_and_told_once(project: Project) -> None:
    """It is the suite's fault; other runs point to the first, which says where it stands and what the service said."""
    starts = "open('starts.txt', 'a').write('x\\n'); print('no desk at {port} in {run_dir}'); raise SystemExit(3)"
    suite(project, serve={"command": ["{python}", "-c", starts]})

    result = project.run("bench")

    assert {(run.verdict, run.blame) for run in project.document.results} == {("error", Blame.SCENARIO)}
    assert project.line_count("bench/starts.txt") == 2
    said = " ".join(result.stdout.str().split())
    why = "ended with status 3 before it answered; the last it said: no desk at {port} in {run_dir} blame: scenario"
    assert said.count(why) == 1
    assert "bench/agentbench.yaml:1:96: agent.http.serve: `" in said
    for name in NAMES[1:]:
        assert f"{name} could not be judged (blame scenario): the same as bench/agentbench.yaml::{NAMES[0]}" in said
    assert f"not scored {', '.join(sorted(NAMES))} scenario: CRASHED: bench/agentbench.yaml" in said


def test_what_a_service_says_as_it_breaks_stands_in_the_failure(project: Project) -> None:
    """The end of its traceback, and how it ended; the run is the agent's failure all the same."""
    suite(project, serve=SERVE)
    path = project.pytester.path / "bench/agentbench.yaml"
    path.write_text(path.read_text().replace("One, please.", "Break"))

    result = project.run("bench")

    result.stdout.fnmatch_lines(["*`*service.py *; the last it said: *RuntimeError: no desk kk*"])
    assert {run.blame for run in project.document.results} == {Blame.AGENT}


def test_an_app_is_reset_and_a_key_that_it_took_before_is_the_agents_to_keep(project: Project) -> None:
    """A 401 in the midst of a conversation is what the agent did, as is a refusal after others were let in."""
    app = """
    import json

    said = []

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            raise ValueError("none")
        body = (await receive())["body"]
        status, answer = 200, {}
        if scope["path"] == "/reset":
            said.clear()
        else:
            said.append(json.loads(body)["message"])
            status, answer = (401, {}) if said[-1] == "Let me in." else (200, {"reply": f"You have {len(said)}."})
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})
    """
    project.write("bench/service.py", textwrap.dedent(app))
    scenarios = [{"id": name, "says": ["One, please."], "communicate": ["You have 1."]} for name in NAMES]
    scenarios.append({"id": "out", "says": ["Hello.", "Let me in."], "communicate": ["You have 3."]})
    agent = {"http": {"app": "service:app", "url": "/chat", "reset": "POST /reset"}}
    project.write("bench/agentbench.yaml", json.dumps({"agent": agent, "scenarios": scenarios}))

    project.run("bench")

    assert project.verdicts() == {**dict.fromkeys(NAMES, "passed"), "out": "failed"}


def test_what_an_endpoint_lacks_is_told_where_it_stands(project: Project) -> None:
    """`$session` without `session:` would open a new conversation each turn; `serial` is a key of `agent`."""
    lacks: dict[str, tuple[dict[str, object], str]] = {
        "session": (
            {"body": {"text": "$message", "id": "$session"}},
            "'$session' is always null: nothing maps `session`",
        ),
        "serial": ({"serial": True}, "write it beside `http`"),
        "state": ({"calls": "did", "call": {"result": "gave"}}, "environment.state: no run changes this state"),
    }
    for name, (http, _) in lacks.items():
        suite(project, f"{name}.agentbench.yaml", **http)

    result = project.run("bench")

    for name, (_, says) in lacks.items():
        result.stdout.fnmatch_lines([f"*{name}.agentbench.yaml:1:*{says}*"])
    assert result.ret == 2


def test_a_service_that_is_told_no_port_is_a_mistake_of_the_file(project: Project) -> None:
    """Nobody waits for it: the place is told before anything is started."""
    suite(project, serve={"command": ["{python}", "service.py"]})

    result = project.run("bench")

    assert result.ret == 2
    said = " ".join(result.stdout.str().split())
    assert "agent.http.serve.command: nothing tells the service where to listen" in said
    assert "write `{port}` into `command` or `env`" in said


def test_a_service_may_say_where_it_listens(project: Project) -> None:
    """A whole address at `ready` is one; all runs share what listens there, so it cannot be started for each."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, ready = f"http://127.0.0.1:{port}/chat", f"http://127.0.0.1:{port}/up"
    serve = {"command": ["{python}", "fixed.py"], "ready": ready}
    suite(project, url=url, serve=serve)
    project.write("bench/fixed.py", SERVICE.replace("int(sys.argv[1])", str(port)))

    refused = project.run("bench")
    suite(project, url=url, serve={**serve, "share": "session"}, reset="POST /reset")
    project.run("bench")

    assert "all of them would listen at" in " ".join(refused.stdout.str().split())
    assert {run.verdict for run in project.document.results} == {"passed"}


def test_who_listens_already_where_a_service_is_to_listen_is_no_service_of_the_suite(project: Project) -> None:
    """A server that somebody left running would be tested in place of the suite's own."""
    with ModelServer({}) as stranger:
        ready = f"{stranger.base_url}/models"
        serve = {"command": ["{python}", "service.py", "1"], "ready": ready, "share": "session"}
        suite(project, url=f"{stranger.base_url}/chat", serve=serve, reset="POST /reset")

        project.run("bench")

    for run in project.document.results:
        assert (run.verdict, run.blame) == ("error", "scenario")
        assert f"something answers at {ready} before the service is started" in (run.error or "")


def test_the_port_may_stand_in_a_whole_address(project: Project) -> None:
    """`{port}` is filled in there, and such an address is no fixed one."""
    suite(project, serve={**SERVE, "ready": "http://127.0.0.1:{port}/up"})

    project.run("bench")

    assert {run.verdict for run in project.document.results} == {"passed"}


def test_a_shared_service_that_dies_is_started_again_for_the_runs_that_follow(project: Project) -> None:
    """The run in which it died is the agent's, and says how the service ended."""
    suite(project, serve={**SERVE, "share": "session"}, reset="POST /reset")
    project.write(
        "bench/service.py",
        SERVICE.replace('raise RuntimeError("no desk " + self.headers["X-Key"] * 2)', "os._exit(7)").replace(
            "import json", "import json, os"
        ),
    )
    path = project.pytester.path / "bench" / "agentbench.yaml"
    path.write_text(
        path.read_text().replace('"id": "second", "says": ["One, please."]', '"id": "second", "says": ["Break it."]')
    )

    project.run("bench", "--agentbench-concurrency", "1")

    found = {run.key.scenario: run for run in project.document.results}
    assert [found[name].verdict.value for name in NAMES] == ["passed", "failed", "passed"]
    assert "ended with status 7" in (found["second"].error or "")


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ({"serve": {"command": ["{python}", "service.py", "{port}", "{now}"]}}, "agent.http.serve"),
        ({"serve": {**SERVE, "env": {"NOW": "{now}"}}}, "agent.http.serve"),
    ],
)
def test_a_clock_that_the_suite_has_not_is_a_mistake_of_the_file(
    project: Project, keys: dict[str, object], place: str
) -> None:
    """It is told when the suite is read, at its place."""
    suite(project, **keys)

    result = project.run("bench")

    assert result.ret == 2
    assert f"{place}: {{now}} has no value: the suite has no clock" in " ".join(result.stdout.str().split())
