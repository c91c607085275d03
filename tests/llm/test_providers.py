"""Providers as their servers see them: which key comes in which header, and what a request is spared."""

import asyncio
from typing import Any, Literal

import pytest
from aiohttp import web

from pytest_agentbench.core.errors import KeyMissingError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.providers import PROVIDERS
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.prices import check_priced
from pytest_agentbench.testing import ModelServer, fault, text
from tests.llm.test_chat import CALLER, HELLO, play
from tests.tables import each

KEYED = {name: row for name, row in PROVIDERS.items() if row.needs_key and not row.place}
ALL_KEYS = {name: f"key-of-{name}" for row in PROVIDERS.values() for name in row.keys}


def ask(spec: ModelSpec, **environ: str) -> str:
    """Ask once; give what was said."""
    return play(lambda models: models.chat(spec, CALLER).complete(HELLO), environ=environ).text


@each("name", KEYED)
def test_a_missing_key_names_the_providers_variable(name: str) -> None:
    """The keys of all others are of no use."""
    row = KEYED[name]
    others = {variable: value for variable, value in ALL_KEYS.items() if variable not in row.keys}

    with pytest.raises(KeyMissingError, match=rf"no key for model 'm' at .*{row.keys[0]}.* set \(set .*replay"):
        Models(environ=others).key_of(ModelSpec.named(f"{name}:m"))


def test_what_lacks_a_key_or_a_price_is_named_without_what_its_address_hides() -> None:
    """Passwords and signed queries are in no reason for a run that does not take place."""
    spec = ModelSpec(model="m", base_url="https://ada:sekret@models.example/v1?sig=sekret", api_key_env="UNSET_KEY")

    with pytest.raises(KeyMissingError, match=r"at https://models\.example/v1: .*UNSET_KEY") as raised:
        Models(environ={}).key_of(spec)
    told = [str(raised.value), *check_priced([spec], has_cost_budget=True, has_call_budget=False)]

    assert len(told) == 2
    assert "sekret" not in "".join(told)


@each("transport", ["direct", "openai"])
def test_one_server_takes_a_key_as_each_role_names_it(transport: Literal["direct", "openai"]) -> None:
    """Whoever asks first does not decide in which header the key of another role goes."""
    with ModelServer([text("hi"), text("hi")]) as server:
        url = {"base_url": server.base_url, "api_key": "the-key", "transport": transport}

        async def scene(models: Models) -> None:
            for name in ("azure:m", "m"):
                await models.chat(ModelSpec.named(name, **url), CALLER).complete(HELLO)

        play(scene)
        seen = [(one.headers.get("api-key"), one.headers.get("authorization")) for one in server.requests]

    assert seen == [("the-key", None), (None, "Bearer the-key")]


@each("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
def test_any_of_a_providers_variables_will_do(variable: str) -> None:
    """The first that is set is the key."""
    assert Models(environ={variable: "k"}).key_of(ModelSpec.named("google:m")) == "k"


@each("name", ["ollama", "lmstudio", "llamacpp", "vllm"])
def test_a_server_of_this_machine_needs_no_key_and_gets_no_other(name: str) -> None:
    """OpenAI's key is not sent to it."""
    assert Models(environ={"OPENAI_API_KEY": "k"}).key_of(ModelSpec.named(f"{name}:m")) == ""


@each(("name", "variable"), [("azure", "AZURE_OPENAI_ENDPOINT"), ("bedrock", "AWS_REGION")])
def test_a_missing_place_names_its_variable(name: str, variable: str) -> None:
    """A key alone does not say where the server is."""
    with pytest.raises(KeyMissingError, match=rf"no server for model 'm': .*{variable}.* set"):
        Models(environ=ALL_KEYS).key_of(ModelSpec.named(f"{name}:m"))


@each("transport", ["direct", "openai"])
@each(
    ("name", "environ", "sent"),
    [
        ("anthropic", {"ANTHROPIC_API_KEY": "sk-a", "OPENAI_API_KEY": "sk-o"}, ("Bearer sk-a", None)),
        ("azure", {"AZURE_OPENAI_API_KEY": "az-1", "OPENAI_API_KEY": "sk-o"}, (None, "az-1")),
        ("vllm", {"OPENAI_API_KEY": "sk-o"}, (None, None)),
        ("vllm", {"VLLM_API_KEY": "v-1"}, ("Bearer v-1", None)),
    ],
)
def test_each_key_goes_into_its_header(
    transport: Literal["direct", "openai"], name: str, environ: dict[str, str], sent: tuple[str | None, str | None]
) -> None:
    """Of the provider that is named, wherever its server stands."""
    with ModelServer([text("hi")]) as server:
        assert ask(ModelSpec.named(f"{name}:m", base_url=server.base_url, transport=transport), **environ) == "hi"
        (request,) = server.requests

    assert (request.headers.get("authorization"), request.headers.get("api-key")) == sent
    assert request.model == "m"


def test_azure_by_its_resource_and_by_the_older_path() -> None:
    """`/openai/v1` needs no version; a deployment's own path keeps the query that says one."""
    seen = []

    async def answer(request: web.BaseRequest) -> web.Response:
        seen.append((request.path_qs, request.headers.get("api-key"), request.headers.get("authorization")))
        message = {"role": "assistant", "content": "hi"}
        return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    async def scene() -> None:
        server = web.ServerRunner(web.Server(answer))
        await server.setup()
        await web.TCPSite(server, "127.0.0.1", 0).start()
        here = f"http://127.0.0.1:{server.addresses[0][1]}"
        older = f"{here}/openai/deployments/desk?api-version=2024-10-21"
        models = Models(environ={"AZURE_OPENAI_ENDPOINT": f"{here}/", "AZURE_OPENAI_API_KEY": "az-1"})
        try:
            for spec in (ModelSpec.named("azure:desk"), ModelSpec.named("azure:desk", base_url=older)):
                await models.chat(spec, CALLER).complete(HELLO)
        finally:
            await models.close()
            await server.cleanup()

    asyncio.run(scene())

    assert seen == [
        ("/openai/v1/chat/completions", "az-1", None),
        ("/openai/deployments/desk/chat/completions?api-version=2024-10-21", "az-1", None),
    ]


@each(
    ("name", "environ", "body"),
    [
        ("openai:m", {}, {"max_completion_tokens": 5, "seed": 7}),
        ("m", {}, {"max_completion_tokens": 5, "seed": 7}),
        ("mistral:m", {}, {"max_tokens": 5, "random_seed": 7}),
        ("deepseek:m", {}, {"max_tokens": 5, "seed": 7}),
        ("m", {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, {"max_tokens": 5, "seed": 7}),
    ],
)
def test_what_a_provider_calls_otherwise_is_not_sent_in_vain(
    name: str, environ: dict[str, str], body: dict[str, Any]
) -> None:
    """Known of the provider's own server alone; nothing was learnt, so nothing is reported."""
    chat = Models(environ=environ).chat(ModelSpec.named(name), CALLER)

    assert chat.capabilities.fit({"max_tokens": 5, "seed": 7}, ()) == body
    assert chat.capabilities.facts == ()


def test_an_error_that_quotes_the_key_of_a_provider_does_not_show_it() -> None:
    """Servers like to quote the key that they refuse."""
    with ModelServer([fault.status(401, "Incorrect API key provided: sk-ant-planted")]) as server:
        spec = ModelSpec.named("anthropic:m", base_url=server.base_url)
        with pytest.raises(Exception, match=r"Incorrect API key provided: \[hidden\]") as raised:
            ask(spec, ANTHROPIC_API_KEY="sk-ant-planted")

    assert "planted" not in str(raised.value)
