"""Names of models: whose they are, where they are asked, and what never reaches another server."""

import pytest

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.providers import ALIASES, PROVIDERS, misspelt, split_name
from pytest_agentbench.core.suite import OpenAIAgentSpec
from pytest_agentbench.core.variants import vary_chat
from pytest_agentbench.llm.prices import server_of
from tests.tables import each


@each("prefix", [*PROVIDERS, *ALIASES])
def test_a_provider_stands_before_the_first_colon(prefix: str) -> None:
    """What follows is the name on its server, colons and slashes included."""
    spec = ModelSpec.named(f"{prefix}:org/small-1:free")

    assert (spec.provider, spec.model) == (ALIASES.get(prefix, prefix), "org/small-1:free")


@each(
    "name",
    [
        "small-1",
        "llama3.2:3b",
        "qwen3:8b",
        "ft:small-1:team::id",
        "arn:aws:bedrock:eu-west-1:1:profile/x",
        "mixtral:8x7b",
    ],
)
def test_a_colon_alone_names_no_provider(name: str) -> None:
    """Tags of local files, fine-tuned models and resource names are names, with a server and without."""
    bare = ModelSpec.named(name)
    served = ModelSpec.named(name, base_url="http://127.0.0.1:1/v1")

    assert (bare.provider, bare.model) == (served.provider, served.model) == ("", name)


def test_a_tag_that_is_called_like_a_provider_is_a_name_on_a_server_of_ones_own() -> None:
    """`mistral:7b` is a file that Ollama serves; by itself it is Mistral's."""
    assert split_name("mistral:7b", has_server=True) == ("", "mistral:7b")
    assert split_name("mistral:7b") == ("mistral", "7b")
    assert split_name("ollama:mistral:7b") == ("ollama", "mistral:7b")


@each(("name", "meant"), [("antropic:x", "anthropic"), ("opneai:x", "openai"), ("OpenAI:x", "openai")])
def test_a_misspelt_provider_is_told(name: str, meant: str) -> None:
    """The error lists what there is and what was probably meant; beside a server it is a name."""
    with pytest.raises(SuiteFaultError, match=rf"no provider is called .*anthropic, azure.*did you mean '{meant}'"):
        ModelSpec.named(name)

    assert ModelSpec.named(name, base_url="http://127.0.0.1:1/v1").model == name


def test_a_provider_that_another_transport_asks_is_told() -> None:
    """Its name alone would be sent to OpenAI."""
    with pytest.raises(SuiteFaultError, match=r"'cohere' has no endpoint .*add `transport: pydantic_ai`"):
        ModelSpec.named("cohere:small")

    assert ModelSpec.named("cohere:small", transport="pydantic_ai").provider == "cohere"


def test_a_provider_without_a_model_is_told() -> None:
    """`openai:` is half a name."""
    assert misspelt("openai:") == ("'openai:' names a provider and no model", "")


@each(
    ("name", "environ", "url"),
    [
        (
            "azure:desk",
            {"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com/"},
            "https://r.openai.azure.com/openai/v1",
        ),
        (
            "azure:desk",
            {"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com/openai/v1/"},
            "https://r.openai.azure.com/openai/v1",
        ),
        ("bedrock:m", {"AWS_REGION": "eu-west-3"}, "https://bedrock-runtime.eu-west-3.amazonaws.com/openai/v1"),
        ("bedrock:m", {"AWS_DEFAULT_REGION": "us-east-1"}, "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1"),
        ("bedrock:m", {}, "https://bedrock-runtime.${AWS_REGION}.amazonaws.com/openai/v1"),
        ("openai:m", {"OPENAI_BASE_URL": "http://gateway/v1"}, "http://gateway/v1"),
        ("m", {"OPENAI_BASE_URL": "http://gateway/v1"}, "http://gateway/v1"),
        ("groq:m", {"OPENAI_BASE_URL": "http://gateway/v1"}, "https://api.groq.com/openai/v1"),
        ("ollama:m", {}, "http://127.0.0.1:11434/v1"),
    ],
)
def test_the_environment_fills_an_address(name: str, environ: dict[str, str], url: str) -> None:
    """Region and resource come from their usual variables; `OPENAI_BASE_URL` moves OpenAI's own and nobody else's."""
    assert server_of(ModelSpec.named(name), environ) == url


def test_a_variant_on_another_server_takes_no_key_along() -> None:
    """Key, headers and further keys were given for the agent's server; what is about the model stays."""
    chat = OpenAIAgentSpec(
        model=ModelSpec.named(
            "groq:big", api_key="gsk-1", headers={"X-Team": "a"}, extra_body={"user": "u"}, temperature=0.5
        )
    )

    other = vary_chat(chat, {"model": "anthropic:small"}).model
    local = vary_chat(chat, {"model": "qwen3:8b", "base_url": "http://127.0.0.1:1/v1"}).model
    same = vary_chat(chat, {"model": "groq:small"}).model
    bare = vary_chat(chat, {"model": "small"}).model

    for spec in (other, local):
        assert (spec.api_key, spec.headers, spec.extra_body, spec.temperature) == ("", {}, {}, 0.5)
    assert (other.provider, other.model, local.provider, local.model) == ("anthropic", "small", "", "qwen3:8b")
    for spec in (same, bare):
        assert (spec.provider, spec.model, spec.api_key, spec.headers) == ("groq", "small", "gsk-1", {"X-Team": "a"})


def test_a_variants_misspelt_provider_is_told() -> None:
    """As in the suite."""
    with pytest.raises(SuiteFaultError, match="did you mean 'anthropic'"):
        vary_chat(OpenAIAgentSpec(model=ModelSpec.named("openai:big")), {"model": "antropic:small"})
