"""The proxy before Responses and Anthropic's Messages: recorded, replayed, metered, budgeted, and streamed."""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from pytest_agentbench.core.errors import BudgetSpentError, ProviderError
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.ledger import Ledger
from pytest_agentbench.testing import ModelRequest, ModelServer, call, calls, fault, text
from tests.llm.test_proxy import KEY, OTHER, PRICE, RUN, agent, merge, recorder, server_gone, serving
from tests.tables import each
from tests.testing import http

TOOL = {"type": "object", "properties": {"order_id": {"type": "string"}}}
HEADERS = {"Authorization": f"Bearer {KEY}", "x-api-key": KEY, "anthropic-version": "2023-06-01"}
LOOK = calls(call("find", order_id="W1"), content="One moment, please.").using(input=100, output=10, cached=40)
DONE = text("It is on its way.").using(input=200, output=20)


class Client:
    """Talks as an official client does, in as many lines as a test needs; `said` is the conversation so far."""

    path: str
    fields: dict[str, Any]

    def __init__(self, url: str, *, stream: bool = False) -> None:
        self.url = url
        self.stream = stream
        self.said: list[Any] = []

    def tell(self, said: str) -> http.Response:
        """Say something, without a look at what comes back."""
        self.said.append({"role": "user", "content": said})
        return self.send()

    def send(self, **fields: Any) -> http.Response:
        """Post the conversation."""
        body = {"model": "m", "stream": self.stream, **self.fields, **self.posted(), **fields}
        return http.send(self.url, json.dumps(body), path=self.path, headers=HEADERS)

    def posted(self) -> dict[str, Any]:
        """Give the fields that hold the conversation."""
        raise NotImplementedError

    def read(self, response: http.Response) -> dict[str, Any]:
        """Give the answer, from the events of a stream where it is one."""
        raise NotImplementedError

    def answered(self, answer: dict[str, Any]) -> str:
        """Take an answer into the conversation, with the results of its calls; give its text."""
        raise NotImplementedError

    def play(self) -> list[str]:
        """Ask, look an order up, and ask on."""
        first = self.answered(self.read(self.tell("Where is W1?")))
        return [first, self.answered(self.read(self.send()))]


class Responses(Client):
    """A client of OpenAI's that repeats the conversation."""

    path = "/responses"
    fields = {"tools": [{"type": "function", "name": "find", "parameters": TOOL}]}

    def posted(self) -> dict[str, Any]:
        """Give the items."""
        return {"input": self.said}

    def read(self, response: http.Response) -> dict[str, Any]:
        """Give the response, which a stream holds in its last event."""
        *_, last = events(response) if self.stream else [response.json()]
        answer: dict[str, Any] = last.get("response", last)
        return answer

    def answered(self, answer: dict[str, Any]) -> str:
        """Repeat all items."""
        self.said += answer["output"]
        self.said += results(answer)
        return "".join(part["text"] for item in answer["output"] for part in item.get("content", ()))


class Chained(Responses):
    """A client of OpenAI's that names the response before."""

    before: str | None = None

    def posted(self) -> dict[str, Any]:
        """Give the items that are new."""
        return {"input": self.said, "previous_response_id": self.before}

    def answered(self, answer: dict[str, Any]) -> str:
        """Keep nothing but the id, and the results of calls."""
        self.before, self.said = answer["id"], results(answer)
        return "".join(part["text"] for item in answer["output"] for part in item.get("content", ()))


class Messages(Client):
    """A client of Anthropic's."""

    path = "/v1/messages"  # what it appends to whatever base URL it is told
    fields = {"max_tokens": 100, "tools": [{"name": "find", "input_schema": TOOL}]}

    def posted(self) -> dict[str, Any]:
        """Give the messages."""
        return {"messages": self.said}

    def read(self, response: http.Response) -> dict[str, Any]:
        """Give the message, put together of the events of a stream."""
        if not self.stream:
            answer: dict[str, Any] = response.json()
            return answer
        content: list[dict[str, Any]] = []
        for event in events(response):
            if event["type"] == "content_block_start":
                content.append(dict(event["content_block"]))
            elif event["type"] == "content_block_delta" and "text" in event["delta"]:
                content[-1]["text"] += event["delta"]["text"]
            elif event["type"] == "content_block_delta":
                content[-1]["input"] = json.dumps(content[-1]["input"])[:-2] + event["delta"]["partial_json"]
        for block in content:
            if isinstance(block.get("input"), str):
                block["input"] = json.loads(block["input"])
        return {"content": content}

    def answered(self, answer: dict[str, Any]) -> str:
        """Repeat all blocks."""
        self.said.append({"role": "assistant", "content": answer["content"]})
        used = [block["id"] for block in answer["content"] if block["type"] == "tool_use"]
        if used:
            told = [{"type": "tool_result", "tool_use_id": key, "content": "in transit"} for key in used]
            self.said.append({"role": "user", "content": told})
        return "".join(block.get("text", "") for block in answer["content"])


CLIENTS = pytest.mark.parametrize("client", [Responses, Chained, Messages])


def results(answer: dict[str, Any]) -> list[Any]:
    """Give the outputs of the calls in a response."""
    keys = [item["call_id"] for item in answer["output"] if item["type"] == "function_call"]
    return [{"type": "function_call_output", "call_id": key, "output": "in transit"} for key in keys]


def events(response: http.Response) -> list[dict[str, Any]]:
    """Read the events of a stream."""
    assert response.headers["content-type"] == "text/event-stream"
    return [json.loads(block.split("data: ")[1]) for block in response.text.strip().split("\n\n")]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """The ledger of a session without budgets."""
    made = Ledger(tmp_path / "ledger.sqlite")
    yield made
    made.close()


def recorded(folder: Path, client: type[Client], *, stream: bool = False) -> list[str]:
    """Record a conversation; give what was said."""
    writing = recorder(folder, Mode.RECORD)
    with ModelServer([LOOK, DONE]) as server, serving(recorder=writing) as proxy:
        said = client(proxy.url(agent(), server.base_url, price=PRICE), stream=stream).play()
        usage = proxy.usage(RUN)
        assert (usage.calls, usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (2, 300, 40, 30)
        assert usage.cost_usd == pytest.approx(300e-6 + 60e-6)
        assert (proxy.faults(RUN), proxy.failure(RUN), proxy.unrecorded(RUN)) == ((), None, {})
    writing.finished(RUN)
    writing.close()
    merge(folder)
    return said


@CLIENTS
@pytest.mark.parametrize("as_stream", [False, True])
def test_a_conversation_replays_whole_and_streamed(tmp_path: Path, client: type[Client], as_stream: bool) -> None:
    """Whichever way it was recorded, with the server gone, and however often."""
    live = recorded(tmp_path, client, stream=as_stream)

    for stream in (False, True):
        with serving(recorder=recorder(tmp_path, Mode.REPLAY), replaying=True) as proxy:
            assert client(proxy.url(agent(), server_gone()), stream=stream).play() == live
            usage = proxy.usage(RUN)
            assert (usage.calls, usage.replayed, usage.input_tokens, usage.cost_usd) == (0, 2, 300, 0.0)
            assert proxy.faults(RUN) == ()


@CLIENTS
def test_whole_and_streamed_answers_have_one_recording(tmp_path: Path, client: type[Client]) -> None:
    """The cassette has the same bytes, and no key in them."""
    texts = []
    for stream in (False, True):
        folder = tmp_path / str(stream)
        folder.mkdir()
        recorded(folder, client, stream=stream)
        texts.append((folder / "cassette.jsonl").read_text())

    assert texts[0] == texts[1]
    assert KEY not in texts[0]


@CLIENTS
@pytest.mark.parametrize("stream", [False, True])
def test_a_recording_goes_on_live_where_the_conversation_changes(
    tmp_path: Path, client: type[Client], stream: bool
) -> None:
    """What was replayed is unknown to the server, which is told all of it, without ids that no server has."""
    recorded(tmp_path, client)
    writing = recorder(tmp_path, Mode.RECORD)
    with ModelServer(["Something else."]) as server, serving(recorder=writing) as proxy, contextlib.closing(writing):
        talking = client(proxy.url(agent(), server.base_url), stream=stream)
        talking.answered(talking.read(talking.tell("Where is W1?")))
        said = talking.answered(talking.read(talking.tell("Oh, never mind.")))

        assert said == "Something else."
        assert (proxy.usage(RUN).replayed, proxy.usage(RUN).calls) == (1, 1)
        [request] = server.requests
        assert [message["role"] for message in request.messages] == ["user", "assistant", "tool", "user"]
        assert request.messages[1]["tool_calls"][0]["function"]["name"] == "find"
        assert not [item for item in request.body.get("input", ()) if "id" in item]


@CLIENTS
def test_a_spent_budget_refuses_before_anything_is_sent(ledger: Ledger, client: type[Client]) -> None:
    """The client is told so in a form that it reads, and the run knows."""
    ledger.begin(RUN, calls=1)
    with ModelServer([LOOK, DONE]) as server, serving(budget=ledger) as proxy:
        talking = client(proxy.url(agent(), server.base_url, price=PRICE))
        talking.answered(talking.read(talking.tell("Where is W1?")))
        refused = talking.send()

        assert (refused.status, refused.headers["x-should-retry"]) == (402, "false")
        assert (refused.json()["type"], refused.json()["error"]["type"]) == ("error", "agentbench_budget")
        assert [type(each) for each in proxy.faults(RUN)] == [BudgetSpentError]
        assert len(server.requests) == 1
    assert ledger.spent().cost_usd == pytest.approx(120e-6)


def test_the_worst_case_holds_the_conversation_that_a_server_remembers(ledger: Ledger) -> None:
    """A request that names a long one may cost as much as if it repeated it."""
    ledger.begin(RUN, cost_usd=0.15)
    long = text("Long.").using(input=100_000, output=10)
    with ModelServer([long, "Short."]) as server, serving(budget=ledger) as proxy:
        talking = Chained(proxy.url(agent(), server.base_url, price=PRICE))
        talking.answered(talking.read(talking.tell("Hello")))
        refused = talking.tell("Hello again")

        assert refused.status == 402
        assert len(server.requests) == 1


@CLIENTS
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "broken", [fault.reset(sent=0.7), fault.malformed(), fault.status(529), fault.raw("{}")],
    ids=["reset", "malformed", "overloaded", "empty"],
)  # fmt: skip
def test_a_misbehaving_server_is_passed_on_and_not_recorded(
    tmp_path: Path, ledger: Ledger, client: type[Client], stream: bool, broken: fault.Fault
) -> None:
    """A stream that ends before its last event is broken, however cleanly it ended; what may be billed is charged."""
    writing = recorder(tmp_path, Mode.RECORD)
    with ModelServer([broken]) as server, serving(recorder=writing, budget=ledger) as proxy:
        talking = client(proxy.url(agent(), server.base_url, price=PRICE), stream=stream)
        try:
            talking.tell("Where is W1?")
        except (OSError, HTTPException):
            assert broken.ending == "reset"

        assert proxy.failure(RUN) is not None
        assert proxy.faults(RUN) == ()
    assert (ledger.spent().calls, ledger.spent().in_flight) == (int(broken.status < 300), 0)
    writing.close()
    assert "request" not in (tmp_path / "main.jsonl").read_text()


@each("error", [{"type": "error", "error": {"type": "overloaded_error"}}, {"error": {}}])
def test_an_error_within_a_stream_is_a_failure(error: dict[str, Any]) -> None:
    """The client sees it, and so does the run."""
    stream = f'event: message_start\ndata: {{"type":"message_start","message":{{}}}}\n\ndata: {json.dumps(error)}\n\n'
    broken = fault.raw(stream, content_type="text/event-stream")
    with ModelServer([broken]) as server, serving() as proxy:
        answer = Messages(proxy.url(agent(), server.base_url), stream=True).tell("Hi")

        assert answer.text == stream
        assert "no whole message" in str(proxy.failure(RUN))


@pytest.mark.parametrize("client", [Responses, Messages])
def test_events_are_passed_on_as_they_come(ledger: Ledger, client: type[Client]) -> None:
    """The first ones are there while the server still works; who leaves then is charged at the worst case."""
    said = json.dumps({"model": "m", "stream": True, **client.fields, **client("").posted(), "input": "Hi"})

    async def first(url: str) -> bytes:
        async with (
            aiohttp.ClientSession() as session,
            session.post(url + client.path, data=said, headers=HEADERS) as answer,
        ):
            return await answer.content.readany()

    with ModelServer([fault.hang(sent=0.5)]) as server, serving(budget=ledger) as proxy:
        came = asyncio.run(first(proxy.url(agent(), server.base_url, price=PRICE)))
        assert came.startswith(b"event: ")
    assert (ledger.spent().calls, ledger.spent().in_flight) == (1, 0)


@each("client", [Responses, Messages])
def test_what_a_stream_cost_is_known_when_its_last_event_comes(client: type[Client]) -> None:
    """A client that has it may end its run at once."""
    with ModelServer([DONE]) as server, serving() as proxy:
        url = proxy.url(agent(), server.base_url, price=PRICE)
        body = {"model": "m", "stream": True, **client.fields, "messages": [], "input": "Hi"}

        async def until_last() -> int:
            async with aiohttp.ClientSession() as session, session.post(url + client.path, json=body) as answer:
                last = {"/responses": b"response.completed", "/v1/messages": b"message_stop"}[client.path]
                seen = b""
                while last not in seen:
                    seen += await answer.content.readany()
                return proxy.usage(RUN).output_tokens

        assert asyncio.run(until_last()) == 20


def test_headers_of_anthropics_clients_go_on() -> None:
    """Version, key and betas reach the server."""
    with ModelServer([DONE]) as server, serving() as proxy:
        Messages(proxy.url(agent(), server.base_url)).tell("Hi")

        headers = server.requests[0].headers
        assert (headers["anthropic-version"], headers["x-api-key"]) == ("2023-06-01", KEY)


def test_each_api_goes_to_its_own_server() -> None:
    """Where nothing is named, the variables of the clients decide, for paths that are not recorded as well."""
    with (
        ModelServer({"m": lambda _: "I am OpenAI."}) as openai,
        ModelServer({"m": lambda _: "I am the other."}) as other,
    ):
        environ = {"OPENAI_BASE_URL": openai.base_url, "ANTHROPIC_BASE_URL": other.base_url.removesuffix("/v1")}
        with serving(environ=environ) as proxy:
            url = proxy.url(agent())
            said = [talking.answered(talking.read(talking.tell("Hi"))) for talking in (Responses(url), Messages(url))]
            http.send(url, "", method="GET", path="/v1/models?limit=1", headers=HEADERS)
            http.send(url, "{}", path="/v1/messages/count_tokens", headers=HEADERS)

            assert said == ["I am OpenAI.", "I am the other."]
            assert (openai.problems, len(other.problems)) == ([], 1)
            assert proxy.unrecorded(RUN) == {"GET /models": 1, "POST /messages/count_tokens": 1}


def test_openais_own_address_takes_no_key_of_another_maker() -> None:
    """A factory may name it as the default of its `base_url`, and hold clients of both makers."""
    with ModelServer([DONE]) as other:
        with serving(environ={"ANTHROPIC_BASE_URL": other.base_url.removesuffix("/v1")}) as proxy:
            url = proxy.url(agent(), "https://api.openai.com/v1")
            assert Messages(url).tell("Hi").status == 200

        assert other.requests[0].headers["x-api-key"] == KEY


def test_a_base_url_with_or_without_its_version_leads_to_messages(tmp_path: Path) -> None:
    """`…/run/ID/v1` doubles the version with Anthropic's clients; a shorter one does not. Both are one request."""
    recorded(tmp_path, Messages)
    for ending in ("/v1", ""):
        with serving(recorder=recorder(tmp_path, Mode.REPLAY), replaying=True) as proxy:
            url = proxy.url(agent(), server_gone()).removesuffix("/v1") + ending
            assert Messages(url).play()[1] == "It is on its way."


@each("upstream", ["", "/v1", "/v1/"])
def test_an_upstream_with_or_without_its_version_is_anthropics(upstream: str) -> None:
    """Anthropic's own base URL has none, OpenAI's has."""
    with ModelServer([DONE]) as server, serving() as proxy:
        url = proxy.url(agent(), server.base_url.removesuffix("/v1") + upstream)

        assert Messages(url).tell("Hi").status == 200


def test_a_retried_request_is_one_recording(tmp_path: Path) -> None:
    """Of a request that was answered at the second time the answer is kept, and the retry counted."""
    writing = recorder(tmp_path, Mode.RECORD)
    with ModelServer([fault.status(529), LOOK, DONE]) as server, serving(recorder=writing) as proxy:
        talking = Messages(proxy.url(agent(), server.base_url))
        assert talking.tell("Where is W1?").status == 529
        talking.answered(talking.read(talking.send()))
        talking.answered(talking.read(talking.send()))
        assert (proxy.usage(RUN).calls, proxy.usage(RUN).retries) == (2, 1)
    writing.finished(RUN)
    writing.close()
    merge(tmp_path)

    with serving(recorder=recorder(tmp_path, Mode.REPLAY), replaying=True) as proxy:
        assert Messages(proxy.url(agent(), server_gone())).play() == ["One moment, please.", "It is on its way."]


def test_a_miss_is_told_in_a_form_that_every_client_reads(tmp_path: Path) -> None:
    """OpenAI's and Anthropic's errors share their member `error`."""
    with serving(recorder=recorder(tmp_path, Mode.REPLAY), replaying=True) as proxy:
        missed = Messages(proxy.url(agent(), server_gone())).tell("Hi")

        assert (missed.status, missed.json()["type"]) == (422, "error")
        assert missed.json()["error"]["type"] == "agentbench_cassette_miss"
        assert str(proxy.faults(RUN)[0]) in missed.json()["error"]["message"]
        assert proxy.usage(OTHER).calls == 0


def test_the_proxy_itself_is_no_server_of_anthropics() -> None:
    """A variable that leads back here would ask in a circle."""
    environ = {"OPENAI_BASE_URL": server_gone()}
    with serving(environ=environ) as proxy:
        environ["ANTHROPIC_BASE_URL"] = proxy.url(agent(OTHER)).partition("/run/")[0]
        with pytest.raises(ProviderError, match="is the proxy itself: name the model server, or unset ANTHROPIC_BASE"):
            proxy.url(agent())


def test_a_body_that_is_no_object_is_refused() -> None:
    """The noun is the API's."""
    with serving() as proxy:
        answer = http.send(proxy.url(agent(), server_gone()), "[", path="/responses")

        assert (answer.status, answer.json()["error"]["type"]) == (400, "agentbench_bad_request")
        assert "a request for a response must be a JSON object" in answer.json()["error"]["message"]


def test_one_agent_may_ask_all_apis(tmp_path: Path) -> None:
    """Calls over three APIs in one run are recorded in one order, and replay."""

    def play(url: str) -> list[int]:
        said = [http.ask(url, "Hi").status]
        said += [talking.tell("Hi").status for talking in (Responses(url), Messages(url))]
        return [*said, http.ask(url, "Hi", "there").status]

    def echo(request: ModelRequest) -> str:
        return f"{request.api}: {request.last}"

    writing = recorder(tmp_path, Mode.RECORD)
    with ModelServer(echo) as server, serving(recorder=writing) as proxy:
        assert play(proxy.url(agent(), server.base_url)) == [200] * 4
    writing.finished(RUN)
    writing.close()
    merge(tmp_path)

    with serving(recorder=recorder(tmp_path, Mode.REPLAY), replaying=True) as proxy:
        assert play(proxy.url(agent(), server_gone())) == [200] * 4
        assert proxy.usage(RUN).replayed == 4
