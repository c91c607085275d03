"""Remote tools in a suite file: every form is read, and what is wrong in one is told with its place."""

from pathlib import Path

import pytest

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.remote import AuthSpec, McpSpec, OpenApiSpec, ServiceSpec
from pytest_agentbench.core.suite import Suite, ToolsSpec
from pytest_agentbench.suites.suite_file import load_suite

SECRET = {"KEY": "a-secret-key"}


def read(folder: Path, tools: str) -> Suite:
    """Read a suite with tools from a file that has a document and a list of tools beside it."""
    (folder / "spec.json").write_text('{"openapi": "3.1.0", "paths": {}}', encoding="utf-8")
    (folder / "tools.json").write_text("[]", encoding="utf-8")
    text = f"agent: a:b\nenvironment: {{tools: {tools}}}\nscenarios: [{{id: x, says: [hi]}}]\n"
    (folder / "agentbench.yaml").write_text(text, encoding="utf-8")
    return load_suite(folder / "agentbench.yaml", environ=SECRET)


def tools_of(suite: Suite) -> ToolsSpec:
    """Give the agent's tools."""
    [tools] = suite.environment.tools
    return tools


@pytest.mark.parametrize(
    ("form", "auth"),
    [
        ('{bearer: "${KEY}"}', AuthSpec(kind="bearer", value="a-secret-key")),
        ('{basic: {user: ada, password: "${KEY}"}}', AuthSpec(kind="basic", user="ada", value="a-secret-key")),
        (
            '{api_key: {value: "${KEY}", query: key}}',
            AuthSpec(kind="api_key", value="a-secret-key", place="query", name="key"),
        ),
        (
            '{client_credentials: {token_url: "https://a/t", client_id: me, client_secret: "${KEY}", scope: all}}',
            AuthSpec(
                kind="client_credentials",
                user="me",
                value="a-secret-key",
                token_url="https://a/t",
                scope="all",
            ),
        ),
    ],
)
def test_a_service_and_how_it_is_authorised(tmp_path: Path, form: str, auth: AuthSpec) -> None:
    """The values of variables are secrets of the suite, and shown by no representation."""
    suite = read(tmp_path, f"{{openapi: spec.json, base_url: 'https://a/v1', auth: {form}, reset: POST /reset}}")

    assert tools_of(suite).kind == "openapi"
    assert tools_of(suite).remote == OpenApiSpec(
        document="spec.json", base_url="https://a/v1", auth=auth, reset="POST /reset"
    )
    assert suite.secrets == ("a-secret-key",)
    assert "a-secret-key" not in repr(tools_of(suite))


def test_a_service_that_is_started(tmp_path: Path) -> None:
    """Placeholders stay as they are until a run fills them in."""
    serve = '{command: [serve, "{port}"], env: {A: b}, ready: /up, share: session, seconds: 3}'
    suite = read(tmp_path, f"{{openapi: 'https://a/spec', list: tools.json, only: [get_*], serve: {serve}}}")

    remote = tools_of(suite).remote
    assert isinstance(remote, OpenApiSpec)
    assert (remote.tools, remote.only) == (tmp_path / "tools.json", ("get_*",))
    assert remote.service == ServiceSpec(
        command=("serve", "{port}"), env={"A": "b"}, ready="/up", share="session", seconds=3
    )


def test_servers(tmp_path: Path) -> None:
    """A command, or an address."""
    started = read(tmp_path, "{mcp: {command: [serve, x], env: {A: b}, inherit: [C]}, share: session, seconds: 5}")
    reached = read(tmp_path, "{mcp: {url: 'https://a/mcp', headers: {X: y}}}")

    assert tools_of(started).remote == McpSpec(
        command=("serve", "x"), env={"A": "b"}, inherit=("C",), share="session", seconds=5
    )
    assert tools_of(reached).remote == McpSpec(url="https://a/mcp", headers={"X": "y"})


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("{openapi: nowhere.json}", "there is no file 'nowhere.json'"),
        ("{mcp: {command: [x]}, list: nowhere.json}", "there is no file 'nowhere.json'"),
        ("{openapi: spec.json, base_ur: 'https://a'}", "base_ur"),
        ("{openapi: spec.json, auth: {token: x}}", "token"),
        ("{openapi: spec.json, reset: /flush}", "a request such as POST /reset"),
        ("{mcp: {command: []}}", "a command, as a list of its words"),
        ("{mcp: {command: [x]}, share: all}", "share"),
        ('{mcp: {command: [x], env: {A: "${UNSET}"}}}', "the environment variable 'UNSET' is not set"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, form: str, told: str) -> None:
    """The file, the line and the key."""
    with pytest.raises(SuiteError) as caught:
        read(tmp_path, form)

    assert told in str(caught.value)
    assert "agentbench.yaml:2:" in str(caught.value)


def test_tools_of_several_providers(tmp_path: Path) -> None:
    """A list holds every form, each with a prefix of its own; what is wrong in one is told at its place."""
    suite = read(tmp_path, "[{mcp: {command: [serve]}, prefix: docs_}, {openapi: spec.json}, tools.json, my_tools]")

    assert [(part.kind, part.prefix) for part in suite.environment.tools] == [
        ("mcp", "docs_"), ("openapi", ""), ("schema", ""), ("python", "")
    ]  # fmt: skip
    with pytest.raises(SuiteError, match=r"agentbench.yaml:2:\d+: environment.tools\[?.?1\]?.*prefix"):
        read(tmp_path, "[my_tools, {mcp: {command: [serve]}, prefix: 'a b'}]")
