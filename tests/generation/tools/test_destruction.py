"""Tools that destroy, where nothing can be reset: probing and generation leave them alone, whatever they are called."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.run import Asked, generate
from pytest_agentbench.generation.tools.data_types import Cards
from pytest_agentbench.generation.tools.probing.prober import probe
from pytest_agentbench.generation.tools.probing.safety import Policy
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.suites.suite_file import load_suite

SERVER = Path(__file__).parent / "destroying_server.py"
BY_MCP = {"list_and_purge", "check_out", "get_report", "lookup", "find_old", "show_log"}
BY_HTTP = {"flush_archive", "expire_sessions", "delete_order", "run_query"}
BY_PYTHON = {"load_backup", "check_duplicates", "status", "export_orders"}
ALL_ALLOWED = Policy(writes=True, trust_annotations=True)

PYTHON = """
from pathlib import Path

LOG = Path({log!r})

def _note(what):
    with LOG.open("a") as file:
        file.write(what + "\\n")
    return f"done, number 7"

def load_backup() -> str:
    "Load the last backup over what is there."
    return _note("load_backup")

def check_duplicates() -> str:
    "Check for duplicates and remove all but the first."
    return _note("check_duplicates")

def status(then: str = "") -> str:
    return _note("status")

def export_orders() -> str:
    "Export the orders to the archive; they are erased here."
    return _note("export_orders")

def get_colour(name: str = "red") -> str:
    "Get a colour."
    return _note("get_colour")
"""


def suite_of(folder: Path, environment: dict[str, Any], **recipe: Any) -> Path:
    """Write a suite with these tools and a recipe."""
    path = folder / "agentbench.yaml"
    suite = {
        "agent": "nowhere:build",
        "environment": environment,
        "scenarios": ["generated/scenarios/*.yaml"],
        "generate": {"from": "tools", "count": 2, **recipe},
    }
    path.write_text(yaml.safe_dump(suite))
    return path


def probed(path: Path, policy: Policy | None = None) -> Cards:
    """Probe the tools of a suite."""
    return asyncio.run(probe(world_of(load_suite(path, environ={}, generating=True)), policy=policy))


def called(log: Path) -> set[str]:
    """Give the tools that were called."""
    return set(log.read_text().split()) if log.exists() else set()


def by_mcp(folder: Path) -> dict[str, Any]:
    """Give an environment of the server that notes what is called."""
    return {"tools": {"mcp": {"command": [sys.executable, str(SERVER), str(folder / "log.txt")]}}}


@asynccontextmanager
async def service(log: Path) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """Serve operations that destroy; give the address and the OpenAPI document."""

    async def noted(request: web.Request) -> web.Response:
        with log.open("a") as file:
            file.write(document["paths"][request.path][request.method.lower()]["operationId"] + "\n")
        return web.json_response({"done": 7})

    def one(name: str, summary: str, *texts: str) -> dict[str, Any]:
        parameters = [{"name": text, "in": "query", "schema": {"type": "string"}} for text in texts]
        return {"operationId": name, "summary": summary, "parameters": parameters, "responses": {}}

    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "d", "version": "1"},
        "paths": {
            "/archive": {"get": one("flush_archive", "Give the size of the archive.")},
            "/sessions": {"get": one("expire_sessions", "List sessions; those that are idle are terminated.")},
            "/orders": {"delete": one("delete_order", "Take an order back.")},
            "/query": {"get": one("run_query", "Look something up.", "sql")},
            "/menu": {"get": one("get_menu", "Get the menu.")},
        },
    }
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", noted)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", document
    finally:
        await runner.cleanup()


def probed_service(folder: Path, policy: Policy | None, **environment: Any) -> set[str]:
    """Probe the service; give what it was asked."""

    async def ask() -> None:
        async with service(folder / "log.txt") as (address, document):
            (folder / "api.json").write_text(json.dumps(document))
            tools = {"openapi": "api.json", "base_url": address}
            suite = load_suite(suite_of(folder, {"tools": tools, **environment}), environ={}, generating=True)
            await probe(world_of(suite), policy=policy)

    asyncio.run(ask())
    return called(folder / "log.txt")


@pytest.mark.parametrize("policy", [None, ALL_ALLOWED], ids=["as it comes", "annotations trusted"])
def test_an_mcp_server_that_cannot_be_reset_keeps_what_it_has(tmp_path: Path, policy: Policy | None) -> None:
    """No guess from a name is enough; a sign of destruction beats an annotation that the user trusts."""
    probed(suite_of(tmp_path, by_mcp(tmp_path)), policy)

    assert called(tmp_path / "log.txt") == ({"get_weather"} if policy else set())


@pytest.mark.parametrize("policy", [None, ALL_ALLOWED], ids=["as it comes", "annotations trusted"])
def test_a_service_that_cannot_be_reset_keeps_what_it_has(tmp_path: Path, policy: Policy | None) -> None:
    """GET is an annotation, DELETE a sign of destruction, so is what a summary or an argument says."""
    assert probed_service(tmp_path, policy) == ({"get_menu"} if policy else set())


def test_functions_with_effects_outside_of_any_state_are_not_called(tmp_path: Path) -> None:
    """Python tools without a state may reach anything."""
    log = tmp_path / "log.txt"
    (tmp_path / "tools.py").write_text(PYTHON.format(log=str(log)))

    probed(suite_of(tmp_path, {"tools": "tools"}), ALL_ALLOWED)

    assert called(log) == set()


def test_functions_that_leave_the_state_alone_are_not_reset_with_it(tmp_path: Path) -> None:
    """Where the suite has a state, what a tool that does not take it destroys stays destroyed."""
    log = tmp_path / "log.txt"
    (tmp_path / "tools.py").write_text(PYTHON.format(log=str(log)))
    (tmp_path / "state.json").write_text('{"orders": {"W1": {"open": true}}}')

    probed(suite_of(tmp_path, {"tools": "tools", "state": {"json": "state.json"}}))

    assert not called(log) & {"check_duplicates", "export_orders"}
    assert "get_colour" in called(log)


def test_what_the_user_declares_is_called_unless_something_says_that_it_destroys(tmp_path: Path) -> None:
    """`reads` makes a call possible; a sign of destruction needs the tool's name in the recipe."""
    environment = {**by_mcp(tmp_path), "reads": ["get_menu", "check_out", "get_report"]}

    probed(suite_of(tmp_path, environment))

    assert called(tmp_path / "log.txt") == {"get_menu", "check_out"}


def test_what_was_not_called_is_told_with_the_line_that_would_allow_it(tmp_path: Path) -> None:
    """The card of each tool names the line to write, a guess named as such."""
    cards = {card.tool: card.partial for card in probed(suite_of(tmp_path, by_mcp(tmp_path))).cards}

    assert "`environment: {reads: [get_menu]}`" in cards["get_menu"]
    assert "`generate: {trust_annotations: true}`" in cards["get_weather"]
    assert "'wipes'" in cards["get_report"]
    assert "`generate: {allow: [get_report]}`" in cards["get_report"]


def test_the_recipe_trusts_annotations_and_allows_by_name(tmp_path: Path) -> None:
    """`generate` calls what the recipe allows, and nothing else, in every stage."""
    recipe = {"trust_annotations": True, "allow": ["get_report"]}
    path = suite_of(tmp_path, by_mcp(tmp_path), **recipe)

    outcome = generate(Asked(suite=path, until="graph"), environ={}, told=lambda _: None)

    assert called(tmp_path / "log.txt") == {"get_weather", "get_report"}
    assert any("get_menu" in line and "reads: [" in line for line in outcome.lines)


def test_what_the_prober_saw_write_is_known_to_write_from_then_on(tmp_path: Path) -> None:
    """A tool of unknown kind that changed the state; one that the user declared to read stays a read."""
    (tmp_path / "tools.py").write_text(
        "def frobnicate(state: dict, name: str = 'a') -> str:\n"
        "    state['things'][name] = 'frobbed'\n    return 'done, number 7'\n"
        "def tweak(state: dict, name: str = 'a') -> str:\n"
        "    state['log'] = name\n    return 'done, number 7'\n"
    )
    (tmp_path / "state.json").write_text('{"things": {"a": "new"}}')
    path = suite_of(tmp_path, {"tools": "tools", "state": {"json": "state.json"}, "reads": ["tweak"]})

    generate(Asked(suite=path, until="graph"), environ={}, told=lambda _: None)
    suite = load_suite(path, environ={}, generating=True)
    assert suite.environment.seen == ("frobnicate",)
    assert [spec.kind for spec in load_toolset(suite.environment, suite.root)] == ["write", "read"]
