"""What shows that environments open anew, and what is advised where nothing does."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.core.remote import McpSpec, OpenApiSpec, ServiceSpec
from pytest_agentbench.core.suite import EnvironmentSpec, ToolsSpec
from pytest_agentbench.generation.tools.world import how_to_reset, is_resettable
from tests.tables import each

SERVED = ServiceSpec(command=("serve", "{port}"))


@each(
    ("remote", "advice", "followed"),
    [
        (
            OpenApiSpec(document="api.yaml", service=SERVED),
            "keep its data in `{run_dir}`",
            OpenApiSpec(document="api.yaml", service=ServiceSpec(command=SERVED.command, env={"DATA": "{run_dir}"})),
        ),
        (
            OpenApiSpec(document="api.yaml", base_url="https://example.org"),
            "name a `reset` request",
            OpenApiSpec(document="api.yaml", base_url="https://example.org", reset="POST /reset"),
        ),
        (McpSpec(url="https://example.org"), "give the `command` of a server", McpSpec(command=("serve", "{run_dir}"))),
        (
            McpSpec(command=("serve", "{run_dir}"), share="session"),
            "leave out `share`",
            McpSpec(command=("serve", "{run_dir}")),
        ),
    ],
)
def test_the_advice_followed_makes_an_environment_open_anew(
    remote: OpenApiSpec | McpSpec, advice: str, followed: OpenApiSpec | McpSpec
) -> None:
    """Each kind of service is told what would show that no run sees another's changes, and that is enough."""
    kind = "mcp" if isinstance(remote, McpSpec) else "openapi"
    before = EnvironmentSpec(tools=(ToolsSpec(kind=kind, target="a service", remote=remote),))
    after = EnvironmentSpec(tools=(ToolsSpec(kind=kind, target="a service", remote=followed),))

    assert not is_resettable(before)
    assert advice in how_to_reset(before)
    assert is_resettable(after)


def test_one_provider_that_is_not_reset_is_enough() -> None:
    """The whole opens anew only where all of it does."""
    fresh = ToolsSpec(kind="mcp", target="notes", remote=McpSpec(command=("serve", "{run_dir}")))
    live = ToolsSpec(kind="mcp", target="mail", remote=McpSpec(url="https://example.org"))

    assert is_resettable(EnvironmentSpec(tools=(fresh, fresh)))
    assert not is_resettable(EnvironmentSpec(tools=(fresh, live)))
    assert "for the tools of mail, give the `command`" in how_to_reset(EnvironmentSpec(tools=(fresh, live)))


def test_what_is_not_called_is_told_with_what_would_open_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A suite may only have left out to say that each run starts anew, which is better than to allow writes."""
    (tmp_path / "bins.py").write_text(
        "def list_bins() -> list:\n    'List the bins.'\n    return ['B-17']\n\n"
        "def empty_bin(number: str) -> str:\n    'Empty a bin.'\n    return 'done'\n"
    )
    (tmp_path / "agentbench.yaml").write_text(
        "agent: none:build\nscenarios: [generated/scenarios/*.yaml]\ngenerate: {from: tools}\n"
        "environment: {tools: bins, reads: [list_bins], writes: [empty_bin]}\n"
    )

    main(["generate", str(tmp_path / "agentbench.yaml"), "--until", "cards"])

    told = " ".join(capsys.readouterr().out.split())
    assert "not called: empty_bin. They change what cannot be reset: give the suite a `state`" in told
    assert "If they may be called all the same, write: generate: {allow_writes: true}" in told


SHARED = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

VISITS = []


class Visits(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(VISITS if self.path == "/visits" else {"slots": ["S-17", "S-18"]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        if self.path == "/reset":
            VISITS.clear()
        elif body.get("slot") not in ("S-17", "S-18"):
            return self.answer({"error": f"no slot {body.get('slot')}"}, 404)
        else:
            VISITS.append(body["slot"])
        self.answer({"booked": len(VISITS)})

    def answer(self, value, status=200):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())


HTTPServer(("127.0.0.1", int(sys.argv[1])), Visits).serve_forever()
"""


def test_a_service_that_all_runs_share_is_asked_by_one_at_a_time(tmp_path: Path) -> None:
    """Changes are also tried a year later; who waits there holds no environment of the same service."""
    (tmp_path / "visits.py").write_text(SHARED)
    get = {"operationId": "list_slots", "responses": {"200": {"description": "The slots."}}}
    listed = {"operationId": "list_visits", "responses": {"200": {"description": "The visits."}}}
    body = {"type": "object", "properties": {"slot": {"type": "string"}}, "required": ["slot"]}
    post = {"operationId": "book", "requestBody": {"content": {"application/json": {"schema": body}}}}
    paths = {"/slots": {"get": get}, "/visits": {"get": listed}, "/book": {"post": post}}
    document = {"openapi": "3.1.0", "info": {"title": "Visits", "version": "1"}, "paths": paths}
    (tmp_path / "api.json").write_text(json.dumps(document))
    suite = tmp_path / "agentbench.yaml"
    suite.write_text(
        "agent: none:build\nnow: 2026-11-30T08:00Z\nscenarios: [generated/scenarios/*.yaml]\n"
        "environment:\n  tools:\n    openapi: api.json\n    base_url: 'http://127.0.0.1:{port}'\n"
        "    serve: {command: ['{python}', visits.py, '{port}'], ready: /slots, share: session}\n"
        "    reset: POST /reset\n  state: {tools: [list_visits]}\n"
        "  reads: [list_slots, list_visits]\n  writes: [book]\n"
        "generate: {from: tools, count: 2, seed: 7}\n"
    )

    assert main(["generate", str(suite)]) == 0

    assert len(list(tmp_path.glob("generated/scenarios/*.yaml"))) == 2
