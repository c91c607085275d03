"""A REST service as tools: calls, errors, faults, authorisation, reset, and who may call how."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.remote import AuthSpec, OpenApiSpec, ServiceSpec
from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.remote_tools import ToolFailedError
from tests.environment.remote_support import Notes, remote_environment, serving
from tests.environment.support import call, thread_runner

PATHS = {
    "/folders/{name}": {
        "get": {
            "operationId": "get_folder",
            "parameters": [
                {"name": "name", "in": "path"},
                {"name": "tags", "in": "query", "schema": {"type": "array"}},
            ],
        },
        "delete": {"operationId": "delete_folder", "parameters": [{"name": "name", "in": "path"}]},
    },
    "/missing": {"get": {"operationId": "missing"}},
    "/slow": {"get": {"operationId": "slow"}},
    "/moved": {"get": {"operationId": "moved"}},
    "/picture": {"get": {"operationId": "picture"}},
}
BEARER = AuthSpec(kind="bearer", value="a-secret-token")
SERVICE = """
import http.server, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    count = 0
    def do_GET(self):
        Handler.count += 1
        if Handler.count > 3 and len(sys.argv) < 4:
            print("out of notes", flush=True)
            import os; os._exit(4)
        body = json.dumps({"count": Handler.count, "folder": sys.argv[2]}).encode()
        self.send_response(int([*sys.argv, 200][3])); self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
print("starting", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with an OpenAPI document."""
    (tmp_path / "spec.json").write_text(json.dumps({"openapi": "3.1.0", "paths": PATHS}), encoding="utf-8")
    return tmp_path


async def test_the_body_is_the_result_and_an_error_from_400_on(root: Path) -> None:
    """Success gives the body as it is; 404 an error result with status and body."""
    async with (
        serving(Notes()) as url,
        remote_environment(OpenApiSpec(document="spec.json", base_url=url), root) as env,
    ):
        folder = await call(env, "get_folder", name="a b/c", tags=["x", "y"])
        missing = await call(env, "missing")
        unknown = await call(env, "get_folder", name="a", colour="red")

    assert json.loads(folder.content) == {"path": "/folders/a b/c", "query": [["tags", "x"], ["tags", "y"]]}
    assert missing == ToolResult(content='HTTP 404: {"detail": "no such note"}', error=True)
    assert (unknown.error, "unknown argument 'colour'" in unknown.content) == (True, True)


async def test_verbs_tell_reads_from_writes_and_the_suite_may_say_otherwise(root: Path) -> None:
    """GET reads, DELETE writes and cannot be undone; `reads` and `writes` go first."""
    remote = OpenApiSpec(document="spec.json", base_url="http://127.0.0.1:9")

    async with remote_environment(remote, root, writes=("slow",)) as env:
        kinds = {spec.name: spec.kind for spec in env.tools}
        destructive = [spec.name for spec in env.tools if spec.destructive]

    assert (kinds["get_folder"], kinds["delete_folder"], kinds["slow"]) == ("read", "write", "write")
    assert destructive == ["delete_folder"]


async def test_redirects_are_followed_and_bytes_described(root: Path) -> None:
    """A redirect within the server is followed; an image is told in words."""
    async with (
        serving(Notes()) as url,
        remote_environment(OpenApiSpec(document="spec.json", base_url=url), root) as env,
    ):
        moved = await call(env, "moved")
        picture = await call(env, "picture")

    assert json.loads(moved.content)["path"] == "/folders/here"
    assert picture.content == "[image/png, 6 bytes]"


async def test_a_write_that_is_sent_elsewhere_is_an_error(root: Path) -> None:
    """What is to be done under another address was not done: the agent is told where."""
    notes = Notes()
    notes.status = 308
    async with serving(notes) as url, remote_environment(OpenApiSpec(document="spec.json", base_url=url), root) as env:
        moved = await call(env, "delete_folder", name="a")

    assert moved == ToolResult(content="HTTP 308: nothing was done here, ask another address", error=True)


async def test_a_service_that_is_down_is_a_fault_of_the_environment(root: Path) -> None:
    """Nobody listening is no answer of a tool."""
    async with remote_environment(OpenApiSpec(document="spec.json", base_url="http://127.0.0.1:9"), root) as env:
        with pytest.raises(
            EnvironmentFaultError, match=r"GET http://127.0.0.1:9/missing: cannot be reached: .*is it r"
        ):
            await call(env, "missing")

        assert env.calls.fault is not None


@pytest.mark.parametrize("status", [401, 407, 429, 502, 503, 504])
async def test_statuses_that_tell_of_the_service_are_faults(root: Path, status: int) -> None:
    """Refused credentials, rate limits and gateways' complaints are not the agent's doing."""
    notes = Notes()
    notes.status = status
    async with serving(notes) as url, remote_environment(OpenApiSpec(document="spec.json", base_url=url), root) as env:
        with pytest.raises(EnvironmentFaultError, match=f"HTTP {status}"):
            await call(env, "missing")


async def test_a_service_that_hangs_is_a_fault_after_its_seconds(root: Path) -> None:
    """No call lasts longer than `seconds`."""
    async with serving(Notes()) as url:
        remote = OpenApiSpec(document="spec.json", base_url=url, seconds=0.2)
        async with remote_environment(remote, root) as env:
            with pytest.raises(EnvironmentFaultError, match=r"no answer within 0.2 s \(environment.tools.seconds"):
                await call(env, "slow")


async def test_secrets_that_a_service_quotes_are_hidden(root: Path) -> None:
    """A refused token is in no message."""
    notes = Notes()
    notes.accepted = {"another"}
    async with serving(notes) as url:
        remote = OpenApiSpec(document="spec.json", base_url=url, auth=BEARER)
        async with remote_environment(remote, root) as env:
            with pytest.raises(EnvironmentFaultError) as caught:
                await call(env, "get_folder", name="x")

    assert "a-secret-token" not in str(caught.value)
    assert "[hidden] has expired" in str(caught.value)
    assert "environment.tools.auth" in str(caught.value)


@pytest.mark.parametrize(
    ("auth", "header"),
    [
        (BEARER, ("Authorization", "Bearer a-secret-token")),
        (AuthSpec(kind="basic", user="ada", value="pw"), ("Authorization", "Basic YWRhOnB3")),
        (AuthSpec(kind="api_key", value="k", name="X-Key"), ("X-Key", "k")),
        (AuthSpec(kind="api_key", value="k", name="key", place="cookie"), ("Cookie", "key=k")),
    ],
)
async def test_requests_are_authorised(root: Path, auth: AuthSpec, header: tuple[str, str]) -> None:
    """Tokens, passwords and keys are where the suite says."""
    notes = Notes()
    async with serving(notes) as url:
        remote = OpenApiSpec(document="spec.json", base_url=url, auth=auth)
        async with remote_environment(remote, root) as env:
            await call(env, "get_folder", name="x")

    assert notes.seen[0].headers[header[0]] == header[1]


async def test_client_credentials_are_exchanged_once_and_renewed_when_they_expire(root: Path) -> None:
    """One token for all runs; a token that the service refuses is replaced and the request sent again."""
    notes = Notes()
    gate = IsolationGate(root / "locks")
    async with serving(notes) as url:
        auth = AuthSpec(kind="client_credentials", user="id", value="client-secret", token_url=f"{url}/token")
        remote = OpenApiSpec(document="spec.json", base_url=url, auth=auth)
        for _ in range(2):
            async with remote_environment(remote, root, gate=gate) as env:
                assert not (await call(env, "get_folder", name="x")).error
        assert notes.tokens == 1

        notes.accepted = set()
        async with remote_environment(remote, root, gate=gate) as env:
            renewed = await call(env, "get_folder", name="x")

    assert (renewed.error, notes.tokens) == (False, 2)


async def test_client_credentials_that_are_refused_are_a_fault(root: Path) -> None:
    """What the token endpoint says is told, with what to look at."""
    async with serving(Notes()) as url:
        auth = AuthSpec(kind="client_credentials", user="id", value="secret-one", token_url=f"{url}/missing")
        async with remote_environment(OpenApiSpec(document="spec.json", base_url=url, auth=auth), root) as env:
            with pytest.raises(EnvironmentFaultError, match=r"gave no token .* HTTP 404: .*client_id"):
                await call(env, "get_folder", name="x")


async def test_headers_of_the_suite_may_hold_the_context(root: Path) -> None:
    """`$context` and `$session_id` stand for the run's own; what the suite sends no agent has to fill in."""
    notes = Notes()
    headers = {"X-User": "$context.user", "X-Run": "$session_id"}
    async with serving(notes) as url:
        remote = OpenApiSpec(document="spec.json", base_url=url, headers=headers)
        async with remote_environment(remote, root, context={"user": "ada"}) as env:
            await call(env, "missing")

    assert (notes.seen[0].headers["X-User"], notes.seen[0].headers["X-Run"]) == ("ada", "run-1")


async def test_runs_that_share_a_service_with_a_reset_take_turns(root: Path) -> None:
    """The service is reset before each run, and no run begins before the last one ended."""
    notes = Notes()
    gate = IsolationGate(root / "locks")
    at_once: list[int] = []
    async with serving(notes) as url:
        remote = OpenApiSpec(document="spec.json", base_url=url, reset="POST /reset")

        async def run() -> None:
            async with remote_environment(remote, root, gate=gate):
                at_once.append(1)
                await asyncio.sleep(0.01)
                assert len(at_once) == 1
                at_once.pop()

        await asyncio.gather(run(), run(), run())

    assert notes.resets == 3


async def test_a_document_may_be_fetched(root: Path) -> None:
    """The address of a document is asked, and its relative server is where it came from."""
    notes = Notes()
    notes.paths = {"/things": {"get": {"operationId": "things"}}}
    async with serving(notes) as url, remote_environment(OpenApiSpec(document=f"{url}/spec.json"), root) as env:
        found = json.loads((await call(env, "things")).content)

    assert found["path"] == "/api/things"


async def test_the_tools_are_functions_for_agents_that_call_them_themselves(root: Path) -> None:
    """They block in a thread, are awaited on a loop, decode JSON, raise what a tool refuses, and are recorded."""
    seen: list[tuple[ToolCall, ToolResult]] = []
    async with (
        serving(Notes()) as url,
        remote_environment(OpenApiSpec(document="spec.json", base_url=url), root) as env,
    ):
        found = {tool.__name__: tool for tool in env.wrapped_tools(lambda made, result: seen.append((made, result)))}

        blocking = await thread_runner(lambda: found["get_folder"]("a"))
        awaited, other = await asyncio.gather(found["get_folder"](name="b"), found["get_folder"](name="c", tags=None))
        with pytest.raises(ToolFailedError, match="no such note"):
            await found["missing"]()
        own_loop = await thread_runner(lambda: asyncio.run(_awaited(found["get_folder"], "d")))

    assert [value["path"] for value in (blocking, awaited, other, own_loop)] == [f"/folders/{x}" for x in "abcd"]
    assert sorted(made.arguments.get("name", "") for made, _ in seen) == ["", "a", "b", "c", "d"]
    assert sum(result.error for _, result in seen) == 1


async def _awaited(tool: Any, name: str) -> Any:
    return await tool(name=name)


async def test_an_agent_that_swallows_an_outage_does_not_hide_it(root: Path) -> None:
    """The fault is kept for the run, whatever the agent makes of it."""
    async with remote_environment(OpenApiSpec(document="spec.json", base_url="http://127.0.0.1:9"), root) as env:
        found = {tool.__name__: tool for tool in env.wrapped_tools(lambda *_: None)}

        def swallow() -> None:
            try:
                found["missing"]()
            except Exception:  # noqa: BLE001 - as careless agents do
                return

        await thread_runner(swallow)

        assert isinstance(env.calls.fault, EnvironmentFaultError)


async def test_a_thread_that_waits_for_a_call_is_let_go_when_the_run_ends(root: Path) -> None:
    """Closing the environment ends the wait of an agent that was left behind."""
    async with serving(Notes()) as url:
        async with remote_environment(OpenApiSpec(document="spec.json", base_url=url), root) as env:
            found = {tool.__name__: tool for tool in env.wrapped_tools(lambda *_: None)}
            waiting = asyncio.ensure_future(thread_runner(found["slow"]))
            await asyncio.sleep(0.1)

        with pytest.raises(EnvironmentFaultError, match="slow"):
            await waiting


def service(root: Path, **changes: Any) -> OpenApiSpec:
    """Give a service that is started from a script."""
    (root / "service.py").write_text(SERVICE, encoding="utf-8")
    started = {"command": (sys.executable, "service.py", "{port}", "{run_dir}"), "ready": "/up", **changes}
    return OpenApiSpec(
        document="spec.json", base_url="http://127.0.0.1:{port}", service=ServiceSpec.model_validate(started)
    )


async def test_each_run_starts_a_service_of_its_own(root: Path) -> None:
    """Counts begin anew, and the folder is gone afterwards."""
    folders = []
    for _ in range(2):
        async with remote_environment(service(root), root) as env:
            answer = json.loads((await call(env, "missing")).content)
            folders.append(Path(answer["folder"]))
            assert (answer["count"], folders[-1].is_dir()) == (2, True)

    assert [folder.exists() for folder in folders] == [False, False]


async def test_any_answer_will_do_where_no_path_is_named(root: Path) -> None:
    """Nobody said that there is anything at `/`."""
    missing = (sys.executable, "service.py", "{port}", "{run_dir}", "404")
    async with remote_environment(service(root, command=missing, ready=None), root) as env:
        assert "404" in (await call(env, "missing")).content


async def test_runs_of_a_session_share_a_service_where_told(root: Path) -> None:
    """The count goes on from run to run."""
    gate = IsolationGate(root / "locks")
    counts = []
    for _ in range(2):
        async with remote_environment(service(root, share="session"), root, gate=gate) as env:
            counts.append(json.loads((await call(env, "missing")).content)["count"])

    assert counts == [2, 3]


async def test_a_service_that_ends_says_what_it_said(root: Path) -> None:
    """The calls before are answered; the fault names status and last lines."""
    async with remote_environment(service(root), root) as env:
        await call(env, "missing")
        await call(env, "missing")
        with pytest.raises(EnvironmentFaultError, match=r"ended with status 4; the last it said: .*out of notes"):
            await call(env, "missing")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("no-such-command",), r"`no-such-command` cannot be started: No such file .*is it installed"),
        ((sys.executable, "-c", "print('no port left'); raise SystemExit(3)"), r"ended with status 3 .*no port left"),
        (
            (sys.executable, "-c", "import time; print('thinking', flush=True); time.sleep(60)"),
            r"within 0\.5 s: no answer at /up .*think",
        ),
        (
            (sys.executable, "service.py", "{port}", "{run_dir}", "404"),
            r"within 4 s: GET /up answered with status 404 \(name a path that answers below 400 as `ready`\)",
        ),
    ],
)
async def test_a_service_that_does_not_come_up_says_what_it_said(
    root: Path, command: tuple[str, ...], message: str
) -> None:
    """A fault names the command, its last lines and what to look at, and never hangs."""
    seconds = 4 if "404" in command else 0.5  # one that is to answer needs time to start
    with pytest.raises(EnvironmentFaultError, match=message):
        async with remote_environment(service(root, command=command, seconds=seconds), root):
            pass
