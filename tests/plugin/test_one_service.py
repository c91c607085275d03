"""One service that is the agent, its tools and its state: started once, and put back before each run."""

import json
from typing import Any

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.core.verdict import Blame, Verdict
from tests.plugin.project import TWO_WORKERS, Project

SERVICE = """
import json
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TAKEN = {}


class Desk(BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.removeprefix("/api")
        mine = {**TAKEN, "a": {"by": "you"}} if self.headers.get("X-Tenant") == "second" else TAKEN
        self.answer({"rows": mine, "asked": len(ASKED)} if path == "/taken" else {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if self.path == "/reset":
            TAKEN.clear() if "keep" not in sys.argv else None
            self.answer({})
        elif self.path == "/flaky":
            RESETS.append(body)
            self.answer({}, 200 if len(RESETS) < 3 else 503) if "hangs" not in sys.argv or len(RESETS) < 3 else None
        elif self.path == "/keyed":
            TAKEN.clear()
            self.answer({}, 200 if self.headers.get("X-Key") else 401)
        elif self.path == "/look":
            self.answer({"ok": True})
        elif self.path.removeprefix("/api") == "/take":
            take(body["name"])
            self.answer({"ok": True}, 503 if body["name"] == "busy" else 200)
        elif self.path == "/talk":
            ASKED.append(body)
            self.answer(self.turn(body["message"]))
        else:
            self.answer({}, 404)

    def turn(self, message):
        name = message.split()[-1]
        if message.startswith("Hide"):
            TAKEN[name] = {"by": "me"}
            return {"reply": "Shall I hide it once more?", "calls": []}
        if "ake" not in message:
            return {"reply": "There is nothing else.", "calls": []}
        take(name)
        made = ["look", "take"] if message.startswith("Ask") else ["take"]
        calls = [{"name": one, "arguments": {"name": name}, "result": "ok"} for one in made]
        return {"reply": "Done.", "calls": calls}

    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def take(name):
    drawn = f"T-{uuid.uuid4().hex[:6]}" if name.startswith("new") else name
    TAKEN[drawn] = {"by": "you"}


ASKED, RESETS = [], []
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Desk).serve_forever()
"""

TAKE = {
    "operationId": "take",
    "requestBody": {
        "content": {"application/json": {"schema": {"type": "object", "properties": {"name": {"type": "string"}}}}}
    },
    "responses": {"200": {"description": "done"}},
}
TAKEN = {"operationId": "taken", "responses": {"200": {"description": "what was taken"}}}
PATHS = {"/take": {"post": TAKE}, "/look": {"post": {**TAKE, "operationId": "look"}}, "/taken": {"get": TAKEN}}
API = {"openapi": "3.1.0", "info": {}, "paths": PATHS}

SERVE = {"command": ["{python}", "desk.py", "{port}"], "ready": "/up"}
FIXED = {"command": ["{python}", "desk.py", "8792"], "ready": "http://127.0.0.1:8792/up", "share": "session"}
CALLS = {"calls": "calls", "call": {"result": "result"}, "body": {"message": "$message"}}


def suite(
    project: Project,
    name: str,
    *scenarios: dict[str, Any],
    agent: dict[str, Any] | None = None,
    port: str = "{port}",
    **tools: Any,
) -> None:
    """Write a suite about one service, which starts under `agent` or under `tools`."""
    project.write("bench/desk.py", SERVICE)
    project.write("bench/api.json", json.dumps(API))
    url = f"http://127.0.0.1:{port}"
    form = {
        "agent": {"http": {"url": f"{url}/talk", **CALLS, **(agent or {})}},
        "environment": {
            "tools": {"openapi": "api.json", "base_url": url, **tools},
            "state": {"tools": ["taken"], "ignore": ["taken.asked"]},
        },
        "scenarios": list(scenarios),
    }
    project.write(f"bench/{name}.agentbench.yaml", json.dumps(form))


def takes(name: str, row: str) -> dict[str, Any]:
    """Give a scenario that expects one row."""
    return {"id": name, "says": [f"Take {row}"], "expect": [{"take": {"name": row}}]}


@pytest.mark.parametrize("workers", ["-n0", TWO_WORKERS])
def test_one_service_is_started_for_agent_and_tools(project: Project, workers: str) -> None:
    """Wherever `serve` stands, for each run or for all, and wherever the request stands that resets it."""
    both = takes("one", "a"), takes("two", "b")
    shared = {**SERVE, "share": "session"}
    suite(project, "under-agent", *both, agent={"serve": SERVE})
    suite(project, "under-tools", *both, serve=SERVE)
    suite(project, "all-under-agent", *both, agent={"serve": shared, "reset": "POST /reset"})
    suite(project, "all-under-tools", *both, serve=shared, reset="POST /reset")
    suite(project, "apart", *both, agent={"serve": shared}, reset="POST /reset")
    if workers == "-n0":
        suite(project, "fixed", *both, agent={"serve": FIXED}, reset="POST /reset", port="8792")

    result = project.run("bench", workers, "-W", "error")

    result.assert_outcomes(passed=12 if workers == "-n0" else 10)


def test_where_no_service_listens_is_an_error_of_the_file(project: Project) -> None:
    """`{port}` where nothing is started, where the port is fixed, and where several are started."""
    suite(project, "nothing", takes("one", "a"))
    suite(project, "fixed", takes("one", "a"), serve=FIXED)
    other = {**SERVE, "ready": "/other"}
    suite(project, "several", takes("one", "a"), serve=SERVE)
    path = project.pytester.path / "bench/several.agentbench.yaml"
    form = json.loads(path.read_text(encoding="utf-8"))
    tools = form["environment"]["tools"]
    form["environment"]["tools"] = [tools, {**tools, "prefix": "b_", "serve": other}]
    path.write_text(json.dumps(form), encoding="utf-8")

    result = project.run("bench", "--collect-only")

    result.stdout.fnmatch_lines_random(
        [
            "*nothing.*:1:*: agent.http.url: '{port}' is where `serve` listens, and the suite starts nothing (*",
            "*nothing.*:1:*: environment.tools.base_url: '{port}' is where `serve` listens, and the suite starts n*",
            "*fixed.*: agent.http.url: '{port}' is a free *, and the suite's service listens at http://127.0.0.1:8792*",
            "*fixed.*: environment.tools.base_url: '{port}' is a free port, and the suite's service listens at *",
            "*several.*: agent.http.url: '{port}' is where `serve` listens, and the suite starts several services (*",
        ]
    )


def test_a_reset_of_the_agent_is_asked_of_its_own_server(project: Project) -> None:
    """Tools below a path of the same service are put back by it, too; where it reaches nothing, its key is named.

    Who asks may differ by variant: then the request is the agent's alone.
    """
    shared = {**SERVE, "share": "session"}
    below = {"base_url": "http://127.0.0.1:{port}/api"}
    both = takes("one", "a"), takes("two", "b")
    suite(project, "below", *both, agent={"serve": shared, "reset": "POST /reset"}, **below)
    suite(project, "astray", takes("one", "a"), agent={"serve": shared, "reset": "POST /rest"}, **below)
    other = {**shared, "env": {"NAME": "other"}}
    suite(project, "keyed", takes("one", "a"), agent={"serve": other, "reset": "POST /keyed"}, **below)
    path = project.pytester.path / "bench/keyed.agentbench.yaml"
    form = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**form, "variants": {"mine": {"headers": {"X-Key": "k"}}}}), encoding="utf-8")

    result = project.run("bench")

    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*astray.*:1:*: agent.http.reset: POST /rest reaches nothing: *404*"])
    result.stdout.no_fnmatch_line("*environment.tools.reset*")


def test_a_service_of_one_of_several_providers_is_named(project: Project) -> None:
    """The agent is Python, and starts nothing; the second provider has the service of the first."""
    suite(project, "several", takes("one", "a"))
    path = project.pytester.path / "bench/several.agentbench.yaml"
    project.write("bench/agents.py", "def build(tools):\n    return lambda message: 'Done.'\n")
    form = json.loads(path.read_text(encoding="utf-8"))
    tools = form["environment"]["tools"]
    broken = {"command": ["{python}", "nothere.py", "{port}"], "ready": "/up", "seconds": 2}
    form["agent"] = "agents:build"
    form["environment"]["tools"] = [{**tools, "prefix": "a_"}, {**tools, "serve": broken}]
    path.write_text(json.dumps(form, indent=1), encoding="utf-8")
    line = path.read_text(encoding="utf-8").split('"serve"')[0].count("\n") + 1

    result = project.run("bench")

    result.stdout.fnmatch_lines([f"*several.*:{line}:*: environment.tools[[]1].serve: *nothere.py*"])


def test_suites_about_the_same_services_do_not_wait_for_each_other(project: Project) -> None:
    """The agent of each is the tools of the other, and both are reset for each run."""
    first, second = ({**SERVE, "share": "session", "env": {"NAME": name}} for name in ("first", "second"))
    rows = [{"id": name, "says": ["Look"], "expect": []} for name in ("a", "b", "c")]
    for name, talks, works in (("one", first, second), ("two", second, first)):
        suite(project, name, *rows, agent={"serve": talks, "reset": "POST /reset"}, serve=works, reset="POST /reset")

    result = project.run("bench", process="forked", timeout=30)

    result.assert_outcomes(passed=6)


def test_a_world_of_each_run_is_held_against_no_other(project: Project) -> None:
    """What is told differs by context: another tenant has what an earlier run changed from the start."""
    refuses = {"id": "two", "says": ["Look at b"], "context": {"tenant": "second"}, "expect": [{"take": {"name": "b"}}]}
    headers = {"headers": {"X-Tenant": "$context.tenant"}}
    one = {**takes("one", "a"), "context": {"tenant": "first"}}
    suite(project, "own", one, refuses, serve=SERVE, **headers)
    suite(project, "reset", one, refuses, serve={**SERVE, "share": "session"}, reset="POST /reset", **headers)

    result = project.run("bench", "--agentbench-concurrency", "1")

    result.assert_outcomes(passed=2, failed=2)
    failed = [one for one in project.document.results if one.key.scenario == "two"]
    assert [one.verdict for one in failed] == [Verdict.FAILED] * 2, result.stdout.str()


@pytest.mark.slow
def test_a_fixed_port_is_refused_where_several_workers_run(project: Project) -> None:
    """Each would start a service there."""
    suite(project, "fixed", takes("one", "a"), agent={"serve": FIXED}, port="8792")

    result = project.run("bench", "-n2")

    result.stdout.fnmatch_lines(["*: agent.http.serve.ready: each of several workers starts a service, and all*-n 0*"])
    assert result.ret != pytest.ExitCode.OK


def test_a_reset_that_does_nothing_fails_no_agent(project: Project) -> None:
    """A run and its expected calls that begin in two states tell; a number that is ignored does not.

    A reset that reaches nothing is the suite's fault, with its place.
    """
    kept = {**SERVE, "command": [*SERVE["command"], "keep"], "share": "session"}
    three = takes("one", "a"), takes("two", "b"), takes("three", "c")
    suite(project, "kept", *three, serve=kept, reset="POST /reset")
    suite(project, "works", *three, serve={**SERVE, "share": "session"}, reset="POST /reset")
    suite(project, "astray", takes("one", "a"), serve={**SERVE, "share": "session"}, reset="POST /rest")

    result = project.run("bench")

    verdicts = {(one.key.suite.split("/")[-1].split(".")[0], one.key.scenario): one for one in project.document.results}
    kept_runs = [one for (name, _), one in verdicts.items() if name == "kept"]
    assert {one.verdict for (name, _), one in verdicts.items() if name == "works"} == {Verdict.PASSED}
    assert not [one for one in kept_runs if one.verdict is Verdict.FAILED], result.stdout.str()
    assert {one.blame for one in kept_runs if one.verdict is Verdict.ERROR} == {Blame.ENVIRONMENT}
    assert verdicts["astray", "one"].blame is Blame.SCENARIO
    result.stdout.fnmatch_lines_random(
        [
            "*not put back (does `reset` do it? for counters: `environment.state.ignore`): taken.rows.*",
            "*astray.*:1:*: environment.tools.reset: POST /rest reaches nothing: HTTP 404*",
        ]
    )


def test_a_post_that_only_looks_and_a_service_out_of_order_fail_no_agent(project: Project) -> None:
    """Nothing but the id that each world drew differs; and who answers 503 to an expected call tells of no agent."""
    looks = {"id": "looks", "says": ["Ask and take new1"], "expect": [{"take": {"name": "new1"}}]}
    suite(project, "post", looks, takes("busy", "busy"), serve=SERVE)
    for name in ("refuses", "hangs"):
        serve = {**SERVE, "command": [*SERVE["command"], name], "share": "session"}
        below = {"base_url": "http://127.0.0.1:{port}/api"}
        suite(project, name, takes(name, "a"), agent={"serve": serve, "reset": "POST /flaky"}, **below)

    result = project.run("bench")

    found = {one.key.scenario: one for one in project.document.results}
    for name in ("refuses", "hangs"):
        assert (found[name].verdict, found[name].blame) == (Verdict.ERROR, Blame.ENVIRONMENT), result.stdout.str()
    assert found["looks"].verdict is Verdict.PASSED, result.stdout.str()
    assert (found["busy"].verdict, found["busy"].blame) == (Verdict.ERROR, Blame.ENVIRONMENT)


def test_a_state_that_differs_is_told_where_the_run_is_not_scored(project: Project) -> None:
    """A change that no call shows, in a run whose user left a question open."""
    suite(project, "hidden", {"id": "hide", "says": ["Hide it"], "expect": []}, serve=SERVE)

    result = project.run("bench")

    [run] = project.document.results
    assert run.verdict is Verdict.ERROR, result.stdout.str()
    result.stdout.fnmatch_lines(["state", "*state, taken.rows.it: not expected, is {'by': 'me'}"])


def test_scenarios_are_made_of_what_the_agent_has(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A service at a fixed port is started once; what tells the state is asked of no agent; rows are put nowhere."""
    suite(project, "made", agent={"serve": FIXED}, reset="POST /reset", port="8792")
    path = project.pytester.path / "bench/made.agentbench.yaml"
    form = json.loads(path.read_text(encoding="utf-8"))
    form["scenarios"] = ["generated/scenarios/*.yaml"]
    policies = [{"id": "once", "text": "Once.", "rule": {"at_most": {"calls": ["take"], "times": 1}}}]
    recipe = {"from": "tools", "count": 1, "values": {"name": ["a", "b"]}}
    path.write_text(json.dumps({**form, "policies": policies, "generate": recipe}), encoding="utf-8")
    made = main(["generate", str(path)])
    told = capsys.readouterr()
    path.write_text(json.dumps({**form, "policies": policies, "generate": {"from": "policies"}}), encoding="utf-8")
    refused = main(["generate", str(path), "--force"])

    assert made == 0, told
    assert "missing tools: taken (not called: " in told.out + told.err
    assert refused != 0
    assert "`state: {tools: …}` can only read, so nothing could put them there" in capsys.readouterr().err
