"""What an agent's service keeps between runs: it is started and reset; where it is not there, no agent is at fault."""

import json
import textwrap

import pytest

from pytest_agentbench.core.verdict import Blame
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


def suite(project: Project, **http: object) -> None:
    """Write a suite of three runs that each are to find an untouched world."""
    project.write("bench/service.py", SERVICE)
    endpoint = {"url": "http://127.0.0.1:{port}/chat", "headers": {"X-Key": "k"}, **http}
    scenarios = [{"id": name, "says": ["One, please."], "communicate": ["You have 1."]} for name in NAMES]
    environment = {"environment": {"state": {"json": "state.json"}}} if "calls" in http else {}
    keys = {"agent": {"http": endpoint}, **environment, "scenarios": scenarios}
    project.write("bench/agentbench.yaml", json.dumps(keys))


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize(
    "http",
    [{"serve": SERVE}, {"serve": {**SERVE, "share": "session"}, "reset": "POST /reset"}],
    ids=["a service each", "one that is reset"],
)
def test_every_run_begins_in_the_first_state(project: Project, http: dict[str, object], workers: str) -> None:
    """A service of its own, or one that all share and that is reset while nobody else uses it."""
    suite(project, **http)

    project.run("bench", workers)

    assert project.verdicts() == dict.fromkeys(NAMES, "passed")


def test_what_is_never_reset_is_seen_by_the_next_run(project: Project) -> None:
    """Without `reset`, runs of a shared service meet what others left."""
    suite(project, serve={**SERVE, "share": "session"})

    project.run("bench")

    assert sorted(project.verdicts().values()) == ["failed", "failed", "passed"]


@pytest.mark.parametrize(
    ("http", "says"),
    [
        ({"url": "http://127.0.0.1:9/chat"}, "cannot be reached"),
        ({"serve": SERVE, "headers": {"X-Key": "other"}}, "401"),
        ({"serve": SERVE, "headers": {"X-Key": "other"}, "reset": "POST /reset"}, "agent.http.reset: POST /reset: 403"),
        ({"serve": {"command": ["{python}", "-c", "raise SystemExit(3)"]}}, "ended with status 3"),
    ],
    ids=["nobody there", "a wrong key", "a refused reset", "no start"],
)
def test_an_endpoint_that_never_let_anybody_in_is_not_the_agents_fault(
    project: Project, http: dict[str, object], says: str
) -> None:
    """The session is red, and no run counts against the agent."""
    suite(project, **http)

    result = project.run("bench")

    result.stdout.fnmatch_lines([f"*{says}*"])
    assert {run.blame for run in project.document.results} == {Blame.ENVIRONMENT}
    assert set(project.verdicts().values()) == {"error"}
    assert result.ret == 1


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


@pytest.mark.parametrize(
    ("http", "says"),
    [
        ({"body": {"text": "$message", "id": "$session"}}, "'$session' is always null: nothing maps `session`"),
        ({"serial": True}, "it stands beside `http`"),
        ({"calls": "did", "call": {"result": "gave"}}, "environment.state: no run changes this state"),
    ],
    ids=["a session that nobody names", "serial", "a state that nobody changes"],
)
def test_what_an_endpoint_lacks_is_told_where_it_stands(project: Project, http: dict[str, object], says: str) -> None:
    """`$session` without `session:` would open a new conversation each turn; `serial` is a key of `agent`."""
    suite(project, **http)

    result = project.run("bench")

    result.stdout.fnmatch_lines([f"*agentbench.yaml:1:*{says}*"])
    assert result.ret == 2
