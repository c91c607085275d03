"""Toolsets as collection reads them: described tools, kinds, and names that do not fit."""

import json
from pathlib import Path

import jsonschema
import pytest

from pytest_agentbench.core.errors import EnvironmentFaultError, ImportPathError
from pytest_agentbench.core.remote import McpSpec, OpenApiSpec
from pytest_agentbench.core.suite import EnvironmentSpec, ToolsSpec
from pytest_agentbench.environment.kinds import guessed_kind
from pytest_agentbench.environment.schema_tools import read_schema_tools
from pytest_agentbench.environment.toolset import load_toolset
from tests.environment.remote_support import Notes, serving
from tests.environment.support import call, environment, shop, write
from tests.shared_data import SHARED, needs_shared
from tests.tables import each


def test_collection_reads_tools_without_calling_any(tmp_path: Path) -> None:
    """Names, kinds and schemas are known; the module's functions were not called."""
    suite = shop(tmp_path)
    (tmp_path / "tools.py").write_text("def remove_it(state) -> str:\n    raise SystemExit\n")

    toolset = load_toolset(*suite)

    assert [(spec.name, spec.kind) for spec in toolset] == [("remove_it", "write")]


def test_reads_and_writes_of_the_suite_settle(tmp_path: Path) -> None:
    """Listed names decide."""
    spec, root = shop(tmp_path)

    listed = load_toolset(spec.model_copy(update={"reads": ("cancel_order",), "writes": ("count_calls",)}), root)

    assert {tool.name: tool.kind for tool in listed}["cancel_order"] == "read"
    assert {tool.name: tool.kind for tool in listed}["count_calls"] == "write"


def test_a_missing_module_is_an_import_path_error(tmp_path: Path) -> None:
    """The name and the folder are said."""
    with pytest.raises(ImportPathError, match="no module 'nowhere_at_all'"):
        load_toolset(EnvironmentSpec(tools=(ToolsSpec(kind="python", target="nowhere_at_all"),)), tmp_path)


def test_an_openai_list_and_an_export_are_read(tmp_path: Path) -> None:
    """Both forms give tools with kinds and requestors."""
    look = {"type": "function", "function": {"name": "look", "description": "See.", "parameters": {"type": "object"}}}
    bare = {"type": "function", "name": "set_it", "parameters": {"type": "object", "properties": {"a": {}}}}
    (tmp_path / "list.json").write_text(json.dumps([look, bare]))
    kinds = {"look": {"type": "write", "mutates_state": True}, "set_it": {"type": "think", "mutates_state": False}}
    (tmp_path / "export.json").write_text(json.dumps({"agent": [look], "user": [bare], "kinds": kinds}))

    listed, exported = read_schema_tools(tmp_path / "list.json"), read_schema_tools(tmp_path / "export.json")

    assert [(item.name, item.kind, item.requestor) for item in listed] == [
        ("look", "read", "assistant"), ("set_it", "write", "assistant"),
    ]  # fmt: skip
    assert [(item.name, item.kind, item.requestor) for item in exported] == [
        ("look", "write", "assistant"), ("set_it", "generic", "user"),
    ]  # fmt: skip
    assert listed[1].arguments == frozenset({"a"})


@pytest.mark.parametrize(
    "text",
    ["", "{", "3", "{}", "[3]", '[{"function": 1}]', '[{"name": 3}]', '[{"name": "a", "parameters": []}]',
     '{"agent": 1}', '{"agent": [], "kinds": 3}', '[{"name": "a"}, {"name": "a"}]'],
)  # fmt: skip
def test_a_malformed_schema_is_a_fault_that_names_the_file(tmp_path: Path, text: str) -> None:
    """Never a traceback of ours."""
    write(tmp_path, tools_json=text)

    with pytest.raises(EnvironmentFaultError, match=r"tools\.json|two tools"):
        load_toolset(EnvironmentSpec(tools=(ToolsSpec(kind="schema", target="tools.json"),)), tmp_path)


@needs_shared
@pytest.mark.parametrize(
    ("domain", "agent", "user"), [("mock", 4, 2), ("airline", 14, 0), ("retail", 16, 0), ("telecom", 13, 30)]
)
def test_exports_of_the_four_domains_are_read(domain: str, agent: int, user: int) -> None:
    """Every tool has a valid schema and the kind that the export states."""
    folder = SHARED / "data" / "tau2" / "domains" / domain
    kinds = json.loads((folder / "tools.json").read_text())["kinds"]

    toolset = load_toolset(EnvironmentSpec(tools=(ToolsSpec(kind="schema", target="tools.json"),)), folder)

    assert (len(toolset.of("assistant")), len(toolset.of("user"))) == (agent, user)
    for spec in toolset:
        jsonschema.Draft202012Validator.check_schema(spec.parameters)
        assert spec.kind == kinds[spec.name]["type"]


@each(
    ("name", "kind"),
    [
        ("get_order", "read"), ("cancelOrder", "write"), ("order_cancel", "write"), ("get_or_create_user", "write"),
        ("listReturnPolicies", "read"), ("calculate", "generic"), ("zzz", "unknown"), ("", "unknown"),
        ("HTTPGet", "read"), ("settle", "unknown"),
        ("annuler_vol", "unknown"), ("listar_pedidos", "unknown"),
    ],
)  # fmt: skip
def test_a_verb_in_the_name_is_a_guess(name: str, kind: str) -> None:
    """Whole English words count, whatever the spelling of the name; other languages are asked for."""
    assert guessed_kind(name) == kind


async def test_several_providers_are_one_toolset(tmp_path: Path) -> None:
    """Functions, described tools and operations of a service: prefixed names reach what they stand for."""
    paths = {"/folders/a": {"get": {"operationId": "look"}}}
    document = json.dumps({"openapi": "3.1.0", "paths": paths})
    write(tmp_path, one_py="def look():\n    return 'one'\n", two_py="def look(word: str):\n    return word\n")
    (tmp_path / "spec.json").write_text(document, encoding="utf-8")
    one, two = ToolsSpec(kind="python", target="one"), ToolsSpec(kind="python", target="two", prefix="two_")
    async with serving(Notes()) as url:
        rest = ToolsSpec(
            kind="openapi", target="z", prefix="rest_", remote=OpenApiSpec(document="spec.json", base_url=url)
        )
        spec = EnvironmentSpec(tools=(rest, one, two), writes=("two_look",), reads=("rest_look",))
        async with environment((spec, tmp_path)) as env:
            answers = [await call(env, "look"), await call(env, "two_look", word="x"), await call(env, "rest_look")]
            kinds = {tool.name: tool.kind for tool in env.tools}
            wrapped = {tool.__name__ for tool in env.wrapped_tools(lambda *_: None)}

    assert [answer.content for answer in answers[:2]] == ["one", "x"]
    assert "/folders/a" in answers[2].content
    assert kinds == {"look": "read", "two_look": "write", "rest_look": "read"}
    assert wrapped == set(kinds) == {tool.name for tool in load_toolset(spec, tmp_path)}


def test_providers_that_clash_ask_for_a_prefix(tmp_path: Path) -> None:
    """Also where another one can only be asked while running."""
    write(tmp_path, one_py="def look():\n    return 'one'\n", two_py="def look():\n    return 'two'\n")
    parts = [ToolsSpec(kind="python", target=target) for target in ("one", "two")]
    asked = ToolsSpec(kind="mcp", target="m", remote=McpSpec(command=("nowhere",)))

    with pytest.raises(EnvironmentFaultError, match=r"two tools of the assistant are named 'look'; put `prefix:`"):
        load_toolset(EnvironmentSpec(tools=(asked, *parts)), tmp_path)
