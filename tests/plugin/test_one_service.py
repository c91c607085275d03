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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TAKEN = {}


class Desk(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({"rows": TAKEN, "asked": len(ASKED)} if self.path == "/taken" else {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if self.path == "/reset":
            TAKEN.clear() if "keep" not in sys.argv else None
            self.answer({})
        elif self.path == "/take":
            TAKEN[body["name"]] = {"by": "you"}
            self.answer({"ok": True})
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
        if not message.startswith("Take"):
            return {"reply": "There is nothing else.", "calls": []}
        TAKEN[name] = {"by": "you"}
        return {"reply": "Done.", "calls": [{"name": "take", "arguments": {"name": name}, "result": "ok"}]}

    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ASKED = []
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
API = {"openapi": "3.1.0", "info": {}, "paths": {"/take": {"post": TAKE}, "/taken": {"get": TAKEN}}}

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


@pytest.mark.slow
def test_a_fixed_port_is_refused_where_several_workers_run(project: Project) -> None:
    """Each would start a service there."""
    suite(project, "fixed", takes("one", "a"), agent={"serve": FIXED}, port="8792")

    result = project.run("bench", "-n2")

    result.stdout.fnmatch_lines(["*: agent.http.serve.ready: each of several workers starts a service, and all*-n 0*"])
    assert result.ret != pytest.ExitCode.OK


def test_a_reset_that_does_nothing_fails_no_agent(project: Project) -> None:
    """What an earlier run left tells; a number that always grows fails no right run, and no reset is needed for reads.

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
            "*what an earlier run changed was still there (does `reset` put all back?): taken.rows.*",
            "*astray.*:1:*: environment.tools.reset: POST /rest reaches nothing: HTTP 404*",
        ]
    )


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
