"""What tests and suites share of cassettes and budgets, what they must not, and who is to blame when these break."""

import os
from pathlib import Path

import pytest

from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, fault, text
from tests.plugin.models_project import SCRIPT, models_suite
from tests.plugin.project import Project

TEST = """
import pytest

@pytest.mark.agentbench("{suite}")
def test_refunds(agentbench):
    assert agentbench.simulate().finished
"""


def test_budgets_bound_tests_that_simulate(project: Project) -> None:
    """A session of tests alone keeps its budget."""
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, count=2)
        project.write("bench/test_mine.py", TEST.format(suite="agentbench.yaml"))
        result = project.run("-oagentbench_max_calls=4", "bench/test_mine.py", "--agentbench-concurrency=1")

        assert len(server.requests) == 4
    assert result.ret == 1


def test_tests_of_two_files_keep_their_recordings_apart(project: Project) -> None:
    """Equal names in two files are two recordings; two suites marked in one file have a cassette each."""
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, count=1)
        suite = project.pytester.path / "bench/agentbench.yaml"
        (suite.parent / "other.agentbench.yaml").write_text(suite.read_text())
        project.write("bench/test_a.py", TEST.format(suite="agentbench.yaml"))
        project.write("bench/test_b.py", TEST.format(suite="agentbench.yaml"))
        project.write("bench/test_c.py", TEST.format(suite="other.agentbench.yaml"))
        project.run("--agentbench-cassette=record", "bench/test_a.py", "bench/test_b.py", "bench/test_c.py")

    replayed = project.run("--agentbench-cassette=replay", "bench/test_a.py", "bench/test_b.py", "bench/test_c.py")

    replayed.assert_outcomes(passed=3)
    assert (suite.parent / "other.agentbench.cassette.jsonl").exists()


def test_one_broken_cassette_costs_no_other(project: Project) -> None:
    """What was recorded for the other suites is merged, and the session does not end in status 0."""
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, count=1)
        suite = project.pytester.path / "bench/agentbench.yaml"
        (suite.parent / "other.agentbench.yaml").write_text(suite.read_text())
        (suite.parent / "agentbench.cassette.jsonl").write_text("no cassette\n")
        result = project.run("--agentbench-cassette=refresh", "--continue-on-collection-errors")

    assert (suite.parent / "other.agentbench.cassette.jsonl").exists()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*agentbench.cassette.jsonl:1:1: is no cassette: *"])


def test_keys_of_the_environment_are_not_quoted(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that quotes the key it was sent does not get it into a file."""
    monkeypatch.setenv("MY_GATEWAY_KEY", "gw-0123456789-abcdef")

    def echo(request: ModelRequest) -> Answer | object:
        return text(f"your key {os.environ['MY_GATEWAY_KEY']} is fine")

    with ModelServer({**SCRIPT, "agent": echo}) as server:
        models_suite(project, server.base_url, count=1)
        project.run("--agentbench-cassette=record")

    written = [path for path in project.pytester.path.rglob("*") if path.is_file()]
    assert [path for path in written if b"gw-0123456789" in path.read_bytes()] == []


def test_a_server_that_hangs_is_the_providers_fault(project: Project) -> None:
    """Time that one unanswered call took is not the agent's."""
    with ModelServer({**SCRIPT, "agent": lambda _: fault.hang()}) as server:
        models_suite(project, server.base_url, count=1, limits={"seconds": 0.5})
        project.run()

    (one,) = project.document.results
    assert (str(one.termination), str(one.blame)) == ("SAFETY_TIMEOUT", "provider")


def test_a_miss_while_the_agent_is_built_is_the_providers(project: Project) -> None:
    """A factory that asks its model before the conversation is refused without blame."""
    agent = """
        import json, urllib.error, urllib.request

        def build(base_url="http://127.0.0.1:9/v1"):
            body = json.dumps({"model": "agent", "messages": [{"role": "user", "content": "warm up"}]}).encode()
            request = urllib.request.Request(f"{base_url}/chat/completions", body, {"Content-Type": "application/json"})
            try:
                urllib.request.urlopen(request).close()
            except urllib.error.HTTPError as error:
                error.close()
                raise
            return lambda message: "hello"
    """
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, count=1, agent={"factory": "shop_agent:build"})
        project.write("bench/shop_agent.py", agent)
        project.run("--agentbench-cassette=replay")

    (one,) = project.document.results
    assert (str(one.termination), str(one.blame)) == ("CRASHED", "provider")


def test_a_ledger_that_breaks_is_nobodys_fault(project: Project) -> None:
    """Runs whose calls cannot be accounted for are not run, and no party is blamed."""
    breaking = """
        import pytest

        @pytest.fixture(scope="session", autouse=True)
        def broken(request):
            for path in request.config.rootpath.glob(".agentbench/runs/*"):
                (path / "ledger.sqlite").mkdir()
    """
    with ModelServer(SCRIPT) as server:
        models_suite(project, server.base_url, count=1, limits={"model_calls": 9})
        project.write("conftest.py", breaking)
        project.run()

    (one,) = project.document.results
    assert one.not_run is not None
    assert "ledger" in one.not_run
    assert Path(project.pytester.path / ".agentbench").exists()
