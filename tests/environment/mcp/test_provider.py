"""An MCP server as tools: calls, content, kinds, isolation, and servers that hang, crash or do not start."""

import asyncio
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from pytest_agentbench.core.errors import EnvironmentFaultError, SuiteFaultError
from pytest_agentbench.core.remote import McpSpec
from pytest_agentbench.core.suite import EnvironmentSpec, ToolsSpec
from pytest_agentbench.core.tool import ToolResult
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.remote_tools import ToolFailedError
from pytest_agentbench.environment.toolset import load_toolset
from tests.environment.mcp.server import answered
from tests.environment.remote_support import remote_environment
from tests.environment.support import call, thread_runner

pytest.importorskip("mcp")

SERVER = (sys.executable, str(Path(__file__).parent / "server.py"))


def server(**changes: Any) -> McpSpec:
    """Give the server of this folder."""
    return McpSpec.model_validate({"command": SERVER, "seconds": 10.0, **changes})


async def test_tools_are_listed_page_by_page_with_what_they_declare(tmp_path: Path) -> None:
    """Annotations settle kinds, the suite's lists go first, and a declared result is kept."""
    async with remote_environment(server(), tmp_path, reads=("refuse",)) as env:
        specs = {spec.name: spec for spec in env.tools}

    assert len(specs) == 12
    assert [specs[name].kind for name in ("echo", "remember", "forget", "refuse", "count_notes")] == [
        "read",
        "write",
        "write",
        "read",
        "read",
    ]
    assert (specs["forget"].destructive, specs["echo"].destructive) == (True, None)
    assert specs["count_notes"].returns == {"type": "object", "required": ["x"]}


async def test_results_are_texts_and_what_is_none_is_described(tmp_path: Path) -> None:
    """Texts as they are, structured content that no text says after them, an image in words."""
    async with remote_environment(server(), tmp_path) as env:
        echo = await call(env, "echo", text="hé")
        count = await call(env, "count_notes")
        picture = await call(env, "picture")
        large = await call(env, "large")

    assert echo == ToolResult(content="hé")
    assert count.content == 'see the structured content\n{"count":0}'
    assert picture.content == "here\n[image, image/png, about 300 bytes]\n[resource note 1: file:///notes/1]"
    assert len(large.content) == 5_000_000


async def test_only_the_flag_makes_a_result_an_error(tmp_path: Path) -> None:
    """isError and protocol errors are errors of the tool; a text that says Error is what the server said."""
    async with remote_environment(server(), tmp_path) as env:
        refused = await call(env, "refuse")
        quiet = await call(env, "quiet_error")
        protocol = await call(env, "protocol_error")

    assert refused == ToolResult(content="no such note", error=True)
    assert quiet == ToolResult(content="Error: no such note", error=False)
    assert (protocol.error, "-32602" in protocol.content) == (True, True)


async def test_each_run_has_a_process_of_its_own_or_all_share_one(tmp_path: Path) -> None:
    """What one run leaves behind the next does not see, unless the suite shares the server."""
    gate = IsolationGate(tmp_path / "locks")

    async def remembered(spec: McpSpec) -> str:
        async with remote_environment(spec, tmp_path, gate=gate) as env:
            return (await call(env, "remember", text="x")).content

    own = [await remembered(server()) for _ in range(2)]
    shared = [await remembered(server(share="session")) for _ in range(2)]

    assert (own, shared) == (["1 notes", "1 notes"], ["1 notes", "2 notes"])


async def test_a_read_that_is_told_something_leaves_no_server_for_another_run(tmp_path: Path) -> None:
    """A read may remember who signs in; where servers are started ahead, the next run has another one all the same."""
    gate = IsolationGate(tmp_path / "locks", starts_ahead=True)

    async def remembered() -> str:
        async with remote_environment(server(), tmp_path, gate=gate, reads=("remember",)) as env:
            return (await call(env, "remember", text="x")).content

    assert [await remembered() for _ in range(2)] == ["1 notes", "1 notes"]


async def test_a_server_gets_a_fresh_folder_and_no_variables_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`{run_dir}` exists for the run alone; keys in the process environment stay there unless named."""
    monkeypatch.setenv("OTHERS_API_KEY", "secret")
    monkeypatch.setenv("ITS_OWN", "given")
    async with remote_environment(server(env={"FOLDER": "{run_dir}/notes"}, inherit=["ITS_OWN"]), tmp_path) as env:
        given = json.loads((await call(env, "environment")).content)
        folder = Path(given["FOLDER"]).parent

        assert folder.is_dir()

    assert not folder.exists()
    assert (given.get("OTHERS_API_KEY"), given["ITS_OWN"]) == (None, "given")


async def test_a_server_is_started_on_the_clock_of_the_run(tmp_path: Path) -> None:
    """`{now}` is the suite's clock; a suite without one has nothing to put there."""
    spec = server(env={"CLOCK": "{now}"})
    async with remote_environment(spec, tmp_path, now=datetime(2027, 3, 1, 9, tzinfo=UTC)) as env:
        given = json.loads((await call(env, "environment")).content)

    assert given["CLOCK"] == "2027-03-01T09:00:00+00:00"
    with pytest.raises(SuiteFaultError, match=r"`\{now\}` in .* is the suite's clock: set `now`"):
        async with remote_environment(spec, tmp_path):
            pass


async def test_the_tools_are_functions_for_agents_that_call_them_themselves(tmp_path: Path) -> None:
    """Blocking in a thread, awaited on the loop; errors are raised."""
    async with remote_environment(server(), tmp_path) as env:
        found = {tool.__name__: tool for tool in env.wrapped_tools(lambda *_: None)}

        blocking = await thread_runner(lambda: found["echo"]('{"a": 1}'))
        awaited = await asyncio.gather(*(found["echo"](text=str(number)) for number in range(20)))
        with pytest.raises(ToolFailedError, match="no such note"):
            await found["refuse"]()

    assert (blocking, awaited) == ({"a": 1}, [str(number) for number in range(20)])


async def test_a_server_that_hangs_is_a_fault_after_its_seconds(tmp_path: Path) -> None:
    """A call ends with what to look at, and closing does not wait for the server either."""
    began = time.monotonic()

    async with remote_environment(server(seconds=1.0), tmp_path) as env:
        with pytest.raises(EnvironmentFaultError, match=r"has not answered the call of 'hang' within 1 s"):
            await call(env, "hang")

    assert time.monotonic() - began < 50  # the call alone would take 60


async def test_a_server_that_crashes_is_a_fault_with_its_last_words(tmp_path: Path) -> None:
    """The call and those after it tell of the end of the process, at once; the next run starts a new one."""
    gate = IsolationGate(tmp_path / "locks")
    async with remote_environment(server(share="session"), tmp_path, gate=gate) as env:
        for _ in range(2):
            with pytest.raises(EnvironmentFaultError, match="the disk is full"):
                await call(env, "crash")

    async with remote_environment(server(share="session"), tmp_path, gate=gate) as env:
        assert (await call(env, "echo", text="again")).content == "again"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("no-such-server",), r"`no-such-server` cannot be started: No such file .*is it installed"),
        (
            (sys.executable, "-c", "import sys; sys.exit('no licence')"),
            r"cannot be used: .*the last it said: no licence",
        ),
        (
            (sys.executable, "-c", "print('hello'); import time; time.sleep(60)"),
            r"has not answered to the first words within 1 s",
        ),
    ],
)
async def test_a_server_that_does_not_start_is_a_fault(tmp_path: Path, command: tuple[str, ...], message: str) -> None:
    """Missing commands, servers that end, and programs that speak something else and keep silent then."""
    with pytest.raises(EnvironmentFaultError, match=message):
        async with remote_environment(server(command=command, seconds=1.0), tmp_path):
            pass


async def test_a_server_is_reached_over_http_too(tmp_path: Path) -> None:
    """Streamable HTTP with headers of the suite; a server that is not there is a fault."""
    seen: list[str] = []

    async def post(request: web.Request) -> web.Response:
        seen.append(request.headers["X-Key"])
        message = await request.json()
        if "id" not in message:
            return web.Response(status=202)
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], **answered(message)})

    app = web.Application()
    app.router.add_post("/mcp", post)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    try:
        async with remote_environment(McpSpec(url=url, headers={"X-Key": "k"}, seconds=10.0), tmp_path) as env:
            result = await call(env, "echo", text="over http")
    finally:
        await runner.cleanup()

    assert (result.content, set(seen)) == ("over http", {"k"})
    with pytest.raises(EnvironmentFaultError, match=r"the MCP server at http://127\.0\.0\.1.*is it running"):
        async with remote_environment(McpSpec(url=url, seconds=5.0), tmp_path):
            pass


def tools_spec(**changes: Any) -> EnvironmentSpec:
    """Give the environment of a suite that names the server."""
    return EnvironmentSpec(tools=(ToolsSpec(kind="mcp", target="notes", remote=server(**changes)),))


async def test_collection_starts_no_process_and_reads_a_committed_list(tmp_path: Path) -> None:
    """Without a list nothing is known of the tools; with one, what it lists is offered and nothing else."""
    listed = [{"type": "function", "function": {"name": "echo", "description": "", "parameters": {"type": "object"}}}]
    (tmp_path / "tools.json").write_text(json.dumps(listed), encoding="utf-8")
    never = ("no-such-server",)

    assert not load_toolset(tools_spec(command=never), tmp_path)
    assert [spec.name for spec in load_toolset(tools_spec(command=never, tools=tmp_path / "tools.json"), tmp_path)] == [
        "echo"
    ]
    async with remote_environment(server(tools=tmp_path / "tools.json"), tmp_path) as env:
        assert [spec.name for spec in env.tools] == ["echo"]


@pytest.mark.parametrize(("only", "offered"), [(["re*", "echo"], ["echo", "remember", "refuse"]), (["eco"], None)])
async def test_some_tools_may_be_offered(tmp_path: Path, only: list[str], offered: list[str] | None) -> None:
    """`only` takes names and patterns; one that fits nothing is an error with a suggestion."""
    if offered is None:
        with pytest.raises(EnvironmentFaultError, match=r"has no tool 'eco'; it has echo, .*did you mean 'echo'"):
            async with remote_environment(server(only=only), tmp_path):
                pass
        return

    async with remote_environment(server(only=only), tmp_path) as env:
        assert [spec.name for spec in env.tools] == offered
