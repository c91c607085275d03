"""Sessions whose models are named by provider: keys that are missing, and keys that get into nothing."""

import pytest

from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, fault, text
from tests.plugin.models_project import SCRIPT, agent, models_suite, user
from tests.plugin.project import Project

SECRET = "zq-planted-word"  # looks like no key: only that it stands in the provider's variable makes it one


def test_a_missing_key_names_the_providers_variable_and_is_no_failure(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs are skipped as not run; OpenAI's key is not sent to anybody else."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    with ModelServer(SCRIPT) as server:
        reach = {"base_url": server.base_url}
        models_suite(
            project,
            "",
            count=2,
            llm=reach,
            agent={"openai": {"model": "agent"}},
            user={"llm": {"model": "anthropic:user"}},
        )
        result = project.run("-rs")

        assert server.requests == []
    assert result.ret == 0
    result.assert_outcomes(skipped=2)
    where = "no key for model 'user' at https://api.anthropic.com/v1"
    result.stdout.fnmatch_lines([f"*not run: {where}: the environment variable ANTHROPIC_API_KEY is not set (set it*"])


def test_a_providers_key_gets_into_no_file(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither from what a model says nor from what a server answers."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)

    def leaky(request: ModelRequest) -> Answer:
        return text(f"My key is {SECRET}.") if request.messages[-1]["role"] == "tool" else agent(request)

    with ModelServer({"agent": leaky, "user": user}) as server:
        models_suite(
            project,
            "",
            count=2,
            llm={"base_url": server.base_url},
            agent={"openai": {"model": "anthropic:agent", "base_url": server.base_url}},
        )
        result = project.run(
            "--agentbench-cassette=record", "-v", f"--agentbench-json={project.pytester.path}/out.json"
        )
        said = [one.headers.get("authorization") for one in server.requests if one.model == "agent"]
        server.play({"agent": [fault.status(401, f"bad key {SECRET}")] * 2, "user": user})
        refused = project.run("-v")

    assert set(said) == {f"Bearer {SECRET}"}
    assert SECRET not in result.stdout.str() + refused.stdout.str()
    written = {path: path.read_bytes() for path in project.pytester.path.rglob("*") if path.is_file()}
    assert [str(path) for path, data in written.items() if SECRET.encode() in data] == []


def test_the_key_of_an_agents_own_provider_is_hidden_too(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """No role of the suite has a model: the agent reads the variable, as clients do, and gives it away."""
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", SECRET)
    leaky = "import os\n\ndef build():\n    return lambda message: 'It is ' + os.environ['AWS_BEARER_TOKEN_BEDROCK']\n"
    project.suite("s1", agent=leaky)

    result = project.run("-v")

    written = [path.read_text() for path in project.pytester.path.rglob("*.json*") if ".agentbench" in path.parts]
    assert any("It is ***" in text for text in written)
    assert SECRET not in "".join([*written, result.stdout.str()])
