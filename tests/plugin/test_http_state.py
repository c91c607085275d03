"""The state of a service behind the agent's endpoint: an OpenAPI document of its own requests tells it."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

from tests.plugin.project import Project

CALL = {"name": "take", "arguments": {}, "result": "ok"}


class Desk(BaseHTTPRequestHandler):
    """A service that takes things, says that it did, and tells how many it took."""

    taken: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """Tell the state."""
        self.answer({"taken": len(self.taken)})

    def do_POST(self) -> None:
        """Chat, be reset, or take one; asked to lie it takes none and says so all the same."""
        said = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if self.path == "/reset":
            self.taken.clear()
        elif "lie" not in said:
            self.taken.append(said)
        self.answer({"reply": "Done.", "calls": [CALL]})

    def answer(self, value: object) -> None:
        """Send JSON."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


def test_the_state_behind_an_endpoint_is_held_against_the_expected_one(project: Project) -> None:
    """The expected call is made at the service, too; an agent that only says that it did it fails by the state."""
    done = {"responses": {"200": {"description": "done"}}}
    paths = {"/taken": {"get": {"operationId": "taken", **done}}, "/take": {"post": {"operationId": "take", **done}}}
    project.write(
        "bench/api.json",
        json.dumps({"openapi": "3.0.0", "info": {"title": "desk", "version": "1"}, "paths": paths}),
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), Desk)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    parts = {"name": "name", "arguments": "arguments", "result": "result"}
    suite = {
        "agent": {"http": {"url": f"{url}/chat", "calls": "calls", "call": parts}},
        "environment": {
            "tools": {"openapi": "api.json", "base_url": url, "reset": "POST /reset"},
            "state": {"tools": ["taken"]},
        },
        "scenarios": [{"id": name, "says": [f"Take one, {name}"], "expect": ["take"]} for name in ("honest", "lie")],
    }
    project.write("bench/agentbench.yaml", json.dumps(suite))

    try:
        result = project.run("bench")
    finally:
        server.shutdown()
        server.server_close()

    assert project.verdicts() == {"honest": "passed", "lie": "failed"}, result.stdout.str()
    result.stdout.fnmatch_lines(["lie failed: state, taken.taken: expected 1, is 0"])
