"""Anthropic's own client before the scripted model and the proxy: what it parses, raises, and does not try again."""

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_agentbench.llm.ledger import Ledger
from pytest_agentbench.testing import Answer, ModelServer, call, calls, fault, refusal, text, truncated
from tests.llm.test_proxy import RUN, agent, serving

pytestmark = pytest.mark.real

anthropic = pytest.importorskip("anthropic")

TOOL: Any = {"name": "find", "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}}}
TALK = calls(call("find", order_id="W1"), call("find"), content="One moment, please.").thinking("Which order? W1.")


def ask(url: str, *, stream: bool = False, retries: int = 0) -> Any:
    """Ask once; give the message, from a stream where it is one."""
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=retries, timeout=5) as client:
        said: Any = [{"role": "user", "content": "Where is W1?"}]
        if not stream:
            return client.messages.create(model="m", max_tokens=100, messages=said, tools=[TOOL])
        with client.messages.stream(model="m", max_tokens=100, messages=said, tools=[TOOL]) as events:
            return events.get_final_message()


def blocks(message: Any) -> list[Any]:
    """The blocks of a message, without what the client's own helpers add."""
    return [block.model_dump(exclude={"parsed_output"}, exclude_none=True) for block in message.content]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server without a script yet."""
    with ModelServer() as running:
        yield running


@pytest.mark.parametrize("answer", [TALK, text("Hello."), truncated("It is"), refusal("I cannot."), fault.no_choices()])
def test_whole_and_streamed_are_one_message(server: ModelServer, answer: Answer) -> None:
    """With and without `/v1` at the end of the base URL, and through the proxy as well."""
    server.play([answer.using(input=9, output=8, cached=7)] * 4)
    with serving() as proxy:
        urls = (server.base_url, server.base_url.removesuffix("/v1"), proxy.url(agent(), server.base_url))
        whole = ask(urls[0])
        streamed = [ask(url, stream=True) for url in urls]
        assert proxy.usage(RUN).input_tokens == 9

    for message in streamed:
        assert blocks(message) == blocks(whole)
        assert message.stop_reason == whole.stop_reason
        assert (message.usage.input_tokens, message.usage.output_tokens) == (2, 8)
        assert message.usage.cache_read_input_tokens == 7


@pytest.mark.parametrize(
    ("broken", "raised"),
    [
        (fault.status(400), anthropic.BadRequestError),
        (fault.status(429), anthropic.RateLimitError),
        (fault.status(529), anthropic.InternalServerError),
    ],
)
def test_faults_are_the_exceptions_that_users_handle(
    server: ModelServer, broken: fault.Fault, raised: type[Exception]
) -> None:
    """Directly and through the proxy."""
    server.play([broken, broken])
    with serving() as proxy:
        for url in (server.base_url, proxy.url(agent(), server.base_url)):
            with pytest.raises(raised):
                ask(url)


def test_what_the_proxy_refuses_is_not_tried_again(server: ModelServer) -> None:
    """The client reads the error, and takes the proxy's word that another try is useless."""
    ledger = Ledger(None)
    ledger.begin(RUN, calls=1)
    server.play(["one", "two"])
    with serving(budget=ledger) as proxy:
        url = proxy.url(agent(), server.base_url)
        ask(url)
        with pytest.raises(anthropic.APIStatusError) as told:
            ask(url, retries=3)
        assert len(proxy.faults(RUN)) == 1
    ledger.close()

    assert (told.value.status_code, told.value.body["error"]["type"]) == (402, "agentbench_budget")
    assert len(server.requests) == 1
