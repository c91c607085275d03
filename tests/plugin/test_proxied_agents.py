"""Agents with model clients of their own, seen through the session's proxy."""

import pytest

from pytest_agentbench.core.model import Usage
from pytest_agentbench.core.run import Result, RunKey
from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.report.model_costs import live_parties
from pytest_agentbench.testing import ModelServer, fault
from tests.plugin.models_project import SCRIPT, models_suite
from tests.plugin.project import Project

AGENT = """
import json
import urllib.error
import urllib.request

def build(tools, base_url="UPSTREAM"):
    call = {tool.__name__: tool for tool in tools}
    messages = [{"role": "system", "content": "You refund orders."}]

    def ask():
        body = json.dumps({"model": "agent", "messages": messages}).encode()
        headers = {"Content-Type": "application/json", "Authorization": "Bearer zq-agent-own-key"}
        request = urllib.request.Request(f"{base_url}/chat/completions", body, headers)
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["choices"][0]["message"]
        except urllib.error.HTTPError as error:
            error.close()
            raise

    def reply(message):
        messages.append({"role": "user", "content": message})
        said = ask()
        while said.get("tool_calls"):
            messages.append(said)
            for asked in said["tool_calls"]:
                found = call[asked["function"]["name"]](**json.loads(asked["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": asked["id"], "content": json.dumps(found)})
            said = ask()
        messages.append(said)
        return said["content"]

    return reply
"""


def proxied_suite(project: Project, base_url: str, *, upstream: str = "", **keys: object) -> None:
    """Write a suite whose agent posts to its `base_url` by itself."""
    chat = {"factory": "shop_agent:build", "price": {"input": 1000, "output": 1000}}
    models_suite(project, base_url, count=3, agent={**chat, **({"upstream": upstream} if upstream else {})}, **keys)
    project.write("bench/shop_agent.py", AGENT.replace("UPSTREAM", "http://127.0.0.1:9/v1" if upstream else base_url))


def test_calls_of_the_agent_are_seen_recorded_and_replayed(project: Project) -> None:
    """The report has the agent's calls beside the user's; replay needs no server, and no key is kept."""
    with ModelServer(SCRIPT) as server:
        proxied_suite(project, server.base_url)
        recording = project.run("--agentbench-cassette=record")
        live = project.comparable
    recording.stdout.fnmatch_lines(["model calls*agent 6,*USD*user 6,*USD*"])

    replayed = project.run("--agentbench-cassette=replay")

    assert recording.ret == replayed.ret == 0
    assert project.comparable == live
    replayed.stdout.fnmatch_lines(["model calls*agent 6 replayed*user 6 replayed*"])
    files = [path.read_bytes() for path in project.pytester.path.rglob("*") if path.suffix in {".jsonl", ".json"}]
    assert not any(b"zq-agent-own-key" in data for data in files)


def test_upstream_is_where_the_suite_says(project: Project) -> None:
    """`upstream` goes before the default of the factory's own parameter."""
    with ModelServer(SCRIPT) as server:
        proxied_suite(project, server.base_url, upstream=server.base_url)
        result = project.run()

    assert result.ret == 0


def test_a_proxy_of_the_environment_is_not_in_the_way(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that read the environment by themselves reach the recording endpoint, and so the server, directly."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with ModelServer(SCRIPT) as server:
        proxied_suite(project, server.base_url)
        result = project.run(process="forked")

    assert result.ret == 0


def test_a_miss_decides_whatever_the_agent_makes_of_it(project: Project) -> None:
    """An agent that is refused an answer is not to blame."""
    with ModelServer(SCRIPT) as server:
        proxied_suite(project, server.base_url)
        project.run("--agentbench-cassette=record")
    agent = project.pytester.path / "bench/shop_agent.py"
    agent.write_text(agent.read_text().replace("You refund orders.", "You refund things."))

    project.run("--agentbench-cassette=replay")

    assert {(str(one.verdict), str(one.blame)) for one in project.document.results} == {("error", "provider")}


def test_budgets_bound_the_agents_own_calls(project: Project) -> None:
    """What the agent spends counts; runs that it does not hold are not run."""
    with ModelServer(SCRIPT) as server:
        proxied_suite(project, server.base_url)
        result = project.run("-oagentbench_max_calls=6", "--agentbench-concurrency=1")

        assert len(server.requests) == 6
    assert result.ret == 1
    assert [one.not_run is None for one in project.document.results] == [True, False, False]


def test_a_broken_model_server_is_not_the_agents_fault(project: Project) -> None:
    """An agent that crashes because its provider fails is told apart."""
    with ModelServer({**SCRIPT, "agent": lambda _: fault.status(500)}) as server:
        proxied_suite(project, server.base_url)
        project.run()

    assert {(str(one.termination), str(one.blame)) for one in project.document.results} == {("CRASHED", "provider")}


def test_replay_names_who_stays_live(project: Project) -> None:
    """An agent whose calls cannot be seen is asked live, which the report says."""
    with ModelServer(SCRIPT) as server:
        proxied_suite(project, server.base_url)
        agent = project.pytester.path / "bench/shop_agent.py"
        agent.write_text(agent.read_text().replace('base_url="', 'url="').replace("{base_url}", "{url}"))
        project.run("--agentbench-cassette=record")

        result = project.run("--agentbench-cassette=replay")

    result.stdout.fnmatch_lines(
        ["model calls*user 6 replayed*agent not observed", "*live despite the replay: the agent*"]
    )


def test_replay_names_every_party_that_stays_live() -> None:
    """Tools that a server executes are called as ever, beside an agent whose model calls cannot be seen."""
    key = RunKey(suite="s", scenario="a")
    players = {"agent": "shop:build", "user": "llm:m", "tools": "mcp"}
    seen = Result(key=key, verdict=Verdict.PASSED, players=players, usage={"agent": Usage(replayed=1)})
    unseen = seen.model_copy(update={"usage": {}})
    ours = seen.model_copy(update={"players": {"agent": "openai:m", "user": "scripted"}})

    assert live_parties([ours]) == []
    assert live_parties([ours, seen]) == ["the tools behind mcp"]
    assert [party.split(",")[0] for party in live_parties([unseen])] == ["the agent", "the tools behind mcp"]


def test_a_model_server_that_hangs_is_the_providers_fault(project: Project) -> None:
    """An agent that waits for an answer which does not come is not blamed for the lost time."""
    with ModelServer({**SCRIPT, "agent": lambda _: fault.hang()}) as server:
        proxied_suite(project, server.base_url, limits={"seconds": 1})
        project.run("-k", "s1")

    first = next(one for one in project.document.results if one.key.scenario == "s1")
    assert (first.termination, first.blame) == ("SAFETY_TIMEOUT", "provider")
    assert "a model server had not answered" in first.stop_reason


def test_a_slow_agent_is_blamed_though_its_model_server_answers(project: Project) -> None:
    """Its own waiting is its own."""
    with ModelServer(SCRIPT) as server:
        proxied_suite(project, server.base_url, limits={"seconds": 1})
        module = project.pytester.path / "bench/shop_agent.py"
        module.write_text(module.read_text().replace('return said["content"]', "import time; time.sleep(3)"))
        project.run("-k", "s1", "-p", "no:cacheprovider")

    first = next(one for one in project.document.results if one.key.scenario == "s1")
    assert (first.termination, first.blame) == ("SAFETY_TIMEOUT", "agent")
