"""Suites that name providers: what a role takes from the common part, and what it never does."""

from pathlib import Path

import pytest

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.model import ModelSpec
from tests.suites.test_models_form import load

KEY = "sk-common-1"


def user(folder: Path, common: str, own: str) -> ModelSpec:
    """Give the user's model of a suite with this common part."""
    spec = load(folder, "agent: a:b", f"llm: {common}", f"user: {{llm: {own}}}").user.model
    assert spec is not None
    return spec


@pytest.mark.parametrize(
    ("common", "own"),
    [
        (f"{{base_url: 'https://here/v1', api_key: {KEY}}}", "{model: 'anthropic:m'}"),
        (f"{{base_url: 'https://here/v1', api_key: {KEY}}}", "{model: 'openai:m'}"),
        (f"{{model: 'openai:m', api_key: {KEY}}}", "{model: 'groq:m'}"),
        (f"{{model: m, api_key: {KEY}}}", "{model: 'groq:m'}"),
        (f"{{api_key: {KEY}}}", "{model: 'groq:m'}"),
        (f"{{model: 'openai:m', api_key: {KEY}}}", "{base_url: 'https://there/v1'}"),
        (f"{{base_url: 'https://here/v1', api_key: {KEY}, model: m}}", "{base_url: 'https://there/v1'}"),
        (f"{{base_url: 'https://here/v1', api_key: {KEY}}}", "{model: 'azure:m', base_url: 'https://there/v1'}"),
        (f"{{model: 'ollama:m', api_key: {KEY}}}", "{model: 'bedrock:m', transport: pydantic_ai}"),
        (f"{{model: 'azure:m', base_url: 'https://one/v1', api_key: {KEY}}}", "{base_url: 'https://two/v1'}"),
    ],
)
def test_a_key_goes_to_no_server_that_it_was_not_given_for(tmp_path: Path, common: str, own: str) -> None:
    """Whoever names another server gets neither key nor headers, body, price or rates of the common part."""
    more = ", headers: {X-Team: a}, extra_body: {user: u}, price: {input: 1, output: 1}, in_flight: 3, temperature: 1}"

    spec = user(tmp_path, common[:-1] + more, own)

    assert spec.api_key == ""
    assert "api_key_env" not in spec.model_fields_set
    assert (spec.headers, spec.extra_body, spec.price, spec.in_flight) == ({}, {}, None, None)
    assert spec.base_url in {"", "https://there/v1", "https://two/v1"}
    assert spec.temperature == 1


@pytest.mark.parametrize(
    ("common", "own", "provider", "url"),
    [
        ("{model: 'groq:m'}", "{model: n}", "groq", ""),
        ("{model: 'groq:m'}", "{model: 'groq:n'}", "groq", ""),
        ("{model: 'groq:m'}", "{temperature: 0}", "groq", ""),
        ("{model: 'azure:m', base_url: 'https://here/v1'}", "{model: 'azure:n'}", "azure", "https://here/v1"),
        ("{base_url: 'https://here/v1', model: m}", "{model: n}", "", "https://here/v1"),
        ("{base_url: 'https://here/v1', model: m}", "{base_url: 'https://here/v2'}", "", "https://here/v2"),
        ("{base_url: 'https://api.groq.com/openai/v1'}", "{model: 'groq:n'}", "groq", "https://api.groq.com/openai/v1"),
        ("{model: m}", "{model: 'openai:n'}", "openai", ""),
        ("{temperature: 0}", "{model: n, base_url: 'https://there/v1'}", "", "https://there/v1"),
        ("{base_url: 'http://127.0.0.1:1/v1', model: m}", "{model: 'mistral:7b'}", "", "http://127.0.0.1:1/v1"),
    ],
)
def test_roles_of_one_server_share_its_key(tmp_path: Path, common: str, own: str, provider: str, url: str) -> None:
    """The same provider, the same host, or a role that names no server at all."""
    spec = user(tmp_path, f"{common[:-1]}, api_key: {KEY}}}", own)

    assert (spec.api_key, spec.provider, spec.base_url) == (KEY, provider, url)


@pytest.mark.parametrize("more", ["", ", transport: pydantic_ai"])
def test_a_chat_agent_is_called_by_its_provider(tmp_path: Path, more: str) -> None:
    """Whoever posts for it."""
    suite = load(tmp_path, f"agent: {{openai: {{model: 'bedrock:m'{more}}}}}")

    assert suite.agent.target == "bedrock:m"


def test_what_the_suite_says_beats_the_table(tmp_path: Path) -> None:
    """Address, key and its variable may all be a suite's own."""
    spec = user(tmp_path, "{}", "{model: 'anthropic:m', base_url: 'http://127.0.0.1:1/v1', api_key_env: TEAM_KEY}")

    assert (spec.provider, spec.model, spec.base_url) == ("anthropic", "m", "http://127.0.0.1:1/v1")
    assert spec.key_variables == ("TEAM_KEY",)


def test_a_variable_of_a_roles_own_beats_the_common_key(tmp_path: Path) -> None:
    """Otherwise the role's own word would mean nothing."""
    assert user(tmp_path, f"{{model: m, api_key: {KEY}}}", "{api_key_env: TEAM_KEY}").api_key == ""


def test_a_misspelt_provider_is_an_error_of_the_file(tmp_path: Path) -> None:
    """The common part's is told once, with its place; each role's at its own."""
    with pytest.raises(SuiteError) as raised:
        load(
            tmp_path,
            "llm: {model: 'antropic:m'}",
            "agent: {openai: {system: x}}",
            "user: {llm: {model: 'goggle:m'}}",
        )

    told = sorted(str(problem) for problem in raised.value.problems)
    assert len(told) == 2
    assert "agentbench.yaml:1:14: llm.model: no provider is called 'antropic', allowed: openai, anthropic" in told[0]
    assert "did you mean 'anthropic'?" in told[0]
    assert "agentbench.yaml:3:21: user.llm.model: no provider is called 'goggle'" in told[1]
    assert "did you mean 'google'?" in told[1]


def test_pydantic_ai_takes_no_server_and_no_key(tmp_path: Path) -> None:
    """The error names the key; the whole name goes to pydantic-ai otherwise."""
    with pytest.raises(SuiteError, match=r"user\.llm\.api_key: transport: pydantic_ai takes no api_key"):
        user(tmp_path, "{}", "{model: 'bedrock:m', transport: pydantic_ai, api_key: k}")

    spec = user(tmp_path, "{transport: pydantic_ai, model: 'cohere:m'}", "{temperature: 0}")

    assert (spec.model, spec.provider, spec.base_url) == ("cohere:m", "cohere", "")


@pytest.mark.parametrize(
    ("common", "own"),
    [
        ("{transport: pydantic_ai}", "{model: 'cohere:m'}"),
        ("{model: 'cohere:m'}", "{transport: pydantic_ai}"),
        ("{model: m, base_url: 'https://here/v1', api_key: k}", "{model: 'cohere:m', transport: pydantic_ai}"),
    ],
)
def test_a_transport_counts_wherever_it_stands(tmp_path: Path, common: str, own: str) -> None:
    """In the common part or in the role; the server and the key of others are not its own."""
    spec = user(tmp_path, common, own)

    assert (spec.model, spec.transport, spec.base_url, spec.api_key) == ("cohere:m", "pydantic_ai", "", "")


def test_another_provider_is_another_suite_and_no_provider_changes_nothing(tmp_path: Path) -> None:
    """Results of two providers are not of the same suite; a key changes no hash."""
    lines = ("agent: a:b", "user: {llm: {model: 'groq:m'}}")

    first = load(tmp_path, *lines)
    other = load(tmp_path, lines[0], lines[1].replace("groq", "xai"))
    bare = load(tmp_path, lines[0], lines[1].replace("groq:m", "m"))

    assert len({first.content_hash, other.content_hash, bare.content_hash}) == 3
