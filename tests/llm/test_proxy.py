"""The proxy: recording, replaying, metering and budgets for agents with clients of their own."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest

from pytest_agentbench.core.errors import BudgetSpentError, CassetteMissError, NotRunError, ProviderError
from pytest_agentbench.core.model import Price
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.llm.cassette.merge import merge as merge_shards
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder
from pytest_agentbench.llm.ledger import Ledger
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.llm.proxy.server import Proxy
from pytest_agentbench.llm.wire import LONGEST_REPLY
from pytest_agentbench.results.redact import Redactor
from pytest_agentbench.runs.loop_thread import LoopThread
from pytest_agentbench.testing import fault
from pytest_agentbench.testing.answers import Answer, call, calls, text
from pytest_agentbench.testing.script import ModelRequest
from pytest_agentbench.testing.server import ModelServer
from tests.tables import each

RUN = RunKey(suite="bench/agentbench.yaml", scenario="a")
OTHER = RunKey(suite="bench/agentbench.yaml", scenario="b")
PRICE = Price(input=1.0, output=2.0)
TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}]
KEY = "sk-planted-1234567890abcdef"


_STRANGE = b'data: {"choices": [{"delta": {"tool_calls": [{"function": ["x"]}]}}]}\n\ndata: [DONE]\n\n'


def agent(run: RunKey = RUN) -> Caller:
    """The agent of a run."""
    return Caller(role="agent", run=run)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """The ledger of a session without budgets."""
    made = Ledger(tmp_path / "ledger.sqlite")
    yield made
    made.close()


@contextlib.contextmanager
def serving(**options: Any) -> Iterator[Proxy]:
    """A proxy on a loop of its own thread."""
    loop = LoopThread()
    proxy = Proxy(**options)
    loop.submit(proxy.start()).result(5)
    try:
        yield proxy
    finally:
        loop.submit(proxy.stop()).result(5)
        loop.stop()


def ask(url: str, said: str = "Hello", **options: Any) -> Any:
    """Ask once with the OpenAI client, which tries nothing again unless told to; a stream is given as its chunks."""
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=options.pop("max_retries", 0)) as client:
        message = {"role": "user", "content": said}
        answer = client.chat.completions.create(model="m", messages=[message], **options)
        return list(answer) if options.get("stream") else answer


def recorder(folder: Path, mode: Mode, process: str = "main") -> CassetteRecorder:
    """The recorder of the suite's cassette."""
    shard = folder / f"{process}.jsonl" if mode.writes else None
    return CassetteRecorder(mode, folder / "cassette.jsonl", shard=shard, redact=Redactor([KEY]).json)


def echo(request: ModelRequest) -> Answer:
    """Answer with what was said last."""
    return text(f"You said: {request.last}").using(input=100, output=10)


def test_a_call_goes_on_and_comes_back() -> None:
    """The client's key and body reach the server, the answer reaches the client, and the run knows what it took."""
    with ModelServer(echo) as server, serving() as proxy:
        answer = ask(proxy.url(agent(), server.base_url, price=PRICE), temperature=0.5)

        assert answer.choices[0].message.content == "You said: Hello"
        (request,) = server.requests
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.body == {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "temperature": 0.5}
        usage = proxy.usage(RUN)
        assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, 100, 10)
        assert usage.cost_usd == pytest.approx(100e-6 + 20e-6)
        assert (proxy.faults(RUN), proxy.failure(RUN), proxy.usage(OTHER).calls) == ((), None, 0)


def test_what_a_server_refuses_an_agent_is_the_agents_affair() -> None:
    """Nothing is left out, renamed, bounded or asked again: the next request goes on as it is, too."""
    refusing = [fault.refused("temperature"), fault.refused("max_tokens"), fault.status(400)]
    sent = {"temperature": 0.5, "max_tokens": 9, "seed": 1, "parallel_tool_calls": False, "tools": TOOLS}
    with ModelServer(refusing) as server, serving() as proxy:
        url = proxy.url(agent(), server.base_url)
        for _ in refusing:
            with pytest.raises(openai.BadRequestError):
                ask(url, **sent)

        body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], **sent}
        assert [request.body for request in server.requests] == [body] * 3


@each("include", [True, False, None])
def test_a_stream_is_passed_on_and_metered(include: bool | None) -> None:
    """Chunks arrive as they are, the one with the tokens only where it was asked for; the proxy sees it anyway."""
    with ModelServer(echo) as server, serving() as proxy:
        options = {} if include is None else {"stream_options": {"include_usage": include}}
        chunks = ask(proxy.url(agent(), server.base_url, price=PRICE), stream=True, **options)

        said = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
        assert said == "You said: Hello"
        assert any(chunk.usage for chunk in chunks) == bool(include)
        assert all(chunk.choices or chunk.usage for chunk in chunks)
        assert proxy.usage(RUN).input_tokens == 100
        assert proxy.usage(RUN).unpriced == 0


def test_a_server_that_does_not_know_stream_options_is_asked_without() -> None:
    """What the proxy adds for its own sake breaks no agent."""

    def old(request: ModelRequest) -> Any:
        return fault.status(400, "unknown field stream_options") if "stream_options" in request.body else echo(request)

    with ModelServer(old) as server, serving() as proxy:
        chunks = ask(proxy.url(agent(), server.base_url), stream=True)

        assert chunks[-1].choices[0].finish_reason == "stop"
        assert (proxy.usage(RUN).calls, proxy.failure(RUN)) == (1, None)


def test_a_refusal_that_names_a_field_of_the_agents_is_its_own() -> None:
    """It is passed on at once, whatever its words talk about."""
    answer = fault.refused("temperature", message="temperature and stream_options do not go together")
    with ModelServer([answer]) as server, serving() as proxy:
        with pytest.raises(openai.BadRequestError):
            ask(proxy.url(agent(), server.base_url), stream=True)

        assert len(server.requests) == 1


@pytest.mark.parametrize("recorded_as", ["whole", "stream"])
def test_one_recording_serves_streams_and_whole_answers(tmp_path: Path, recorded_as: str) -> None:
    """Text and tool calls recorded either way replay either way, with the server gone."""
    said = calls(call("find", id=3), call("look"), content="Let me see.").using(input=7, output=5)
    with ModelServer([said]) as server:
        writing = recorder(tmp_path, Mode.RECORD)
        with serving(recorder=writing) as proxy:
            ask(proxy.url(agent(), server.base_url), stream=recorded_as == "stream")
            assert proxy.faults(RUN) == ()
        writing.finished(RUN)
        writing.close()
        merge(tmp_path)

    with serving(recorder=recorder(tmp_path, Mode.REPLAY), replaying=True) as proxy:
        url = proxy.url(agent(), server_gone())
        whole = ask(url).choices[0]
        assert whole.finish_reason == "tool_calls"
        assert [(one.function.name, one.function.arguments) for one in whole.message.tool_calls] == [
            ("find", '{"id":3}'), ("look", "{}"),
        ]  # fmt: skip
        assert proxy.usage(RUN).model_dump(exclude={"seconds"}) == {
            "calls": 0, "replayed": 1, "retries": 0, "input_tokens": 7, "cached_tokens": 0, "output_tokens": 5,
            "reasoning_tokens": 0, "cost_usd": 0.0, "unpriced": 0, "latencies": (), "adapted": (),
        }  # fmt: skip

    with serving(recorder=recorder(tmp_path, Mode.REPLAY), replaying=True) as proxy:
        chunks = ask(proxy.url(agent(), server_gone()), stream=True, stream_options={"include_usage": True})
        assert chunks[-1].usage.total_tokens == 12
        deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
        assert "".join(delta.content or "" for delta in deltas) == "Let me see."
        named = [one.function.name for delta in deltas for one in delta.tool_calls or []]
        assert named == ["find", "look"]


def merge(folder: Path) -> None:
    """Make the cassette of what was noted."""
    merge_shards(folder / "cassette.jsonl", sorted(folder.glob("main*.jsonl")))


def server_gone() -> str:
    """Where nobody listens."""
    return "http://127.0.0.1:9/v1"


def test_a_miss_is_told_once_and_remembered(tmp_path: Path) -> None:
    """The client does not try again, and the run knows whatever the agent makes of the error."""
    with serving(recorder=recorder(tmp_path, Mode.REPLAY), replaying=True) as proxy:
        with pytest.raises(openai.UnprocessableEntityError) as told:
            ask(proxy.url(agent(), server_gone()), max_retries=3)

        assert told.value.body["type"] == "agentbench_cassette_miss"
        (fault_seen,) = proxy.faults(RUN)
        assert isinstance(fault_seen, CassetteMissError)
        assert str(fault_seen) in told.value.message
        assert proxy.usage(RUN).calls == 0


def test_a_spent_budget_is_told_once_and_remembered(ledger: Ledger) -> None:
    """A run's budget refuses its next call before anything is sent; another run goes on."""
    ledger.begin(RUN, calls=1)
    with ModelServer(echo) as server, serving(budget=ledger) as proxy:
        url = proxy.url(agent(), server.base_url, price=PRICE)
        ask(url)
        with pytest.raises(openai.APIStatusError) as told:
            ask(url, max_retries=3)
        ask(proxy.url(agent(OTHER), server.base_url, price=PRICE))

        assert (told.value.status_code, told.value.body["type"]) == (402, "agentbench_budget")
        (refused,) = proxy.faults(RUN)
        assert isinstance(refused, BudgetSpentError)
        assert refused.scope == "run"
        assert len(server.requests) == 2
        assert proxy.faults(OTHER) == ()
    assert ledger.spent().cost_usd == pytest.approx(2 * 120e-6)
    assert ledger.spent().in_flight == 0


def test_a_budget_of_money_refuses_what_has_no_price(ledger: Ledger) -> None:
    """The agent's models are not known before it asks; then the run is not run."""
    ledger.start(cost_usd=1.0)
    with ModelServer(echo) as server, serving(budget=ledger) as proxy:
        with pytest.raises(openai.APIStatusError):
            ask(proxy.url(agent(), server.base_url))

        assert [type(each) for each in proxy.faults(RUN)] == [NotRunError]
        assert server.requests == []


def test_errors_and_their_headers_pass_through(tmp_path: Path, ledger: Ledger) -> None:
    """Trying again is the client's business; one recording comes of a request that was answered at the third time."""
    script = [fault.status(429, retry_after=0), fault.status(500), text("done").using(input=1, output=1)]
    writing = recorder(tmp_path, Mode.RECORD)
    with ModelServer(script) as server, serving(recorder=writing, budget=ledger) as proxy:
        url = proxy.url(agent(), server.base_url, price=PRICE)
        with pytest.raises(openai.RateLimitError) as told:
            ask(url)
        assert told.value.response.headers["retry-after"] == "0"
        failure = proxy.failure(RUN)
        assert failure is not None
        assert failure.status == 429
        with pytest.raises(openai.InternalServerError):
            ask(url)
        ask(url)

        assert (proxy.usage(RUN).calls, proxy.usage(RUN).retries) == (1, 2)
        assert (proxy.failure(RUN), proxy.faults(RUN)) == (None, ())
    assert (ledger.spent().calls, ledger.spent().in_flight) == (1, 0)
    writing.finished(RUN)
    writing.close()
    merge(tmp_path)
    with serving(recorder=recorder(tmp_path, Mode.REPLAY), replaying=True) as proxy:
        assert ask(proxy.url(agent(), server_gone())).choices[0].message.content == "done"


@pytest.mark.parametrize(
    ("given", "stream", "charged"),
    [
        (fault.reset(sent=0), False, 1),
        (fault.reset(sent=0.5), False, 1),
        (fault.reset(sent=0.5), True, 1),
        (fault.malformed(), False, 1),
        (fault.no_choices(), False, 1),
        (fault.raw("[]"), False, 1),
        (fault.status(500), True, 0),
        (fault.raw(_STRANGE, content_type="text/event-stream"), True, 1),
        (fault.raw(b"[" + b" " * LONGEST_REPLY + b"]"), False, 1),
        (fault.raw((b":" * 2**20 + b"\n\n") * 33, content_type="text/event-stream"), True, 1),
    ],
    ids=["reset", "reset-mid-body", "reset-mid-stream", "malformed", "no-choices", "no-object", "refused", "strange",
         "too-long", "too-long-stream"],
)  # fmt: skip
def test_a_misbehaving_server_is_passed_on_and_not_recorded(
    tmp_path: Path, given: Any, stream: bool, charged: int, ledger: Ledger
) -> None:
    """The client sees the fault, the failure is known, nothing is kept, and what may have been billed is charged."""
    writing = recorder(tmp_path, Mode.RECORD)
    with ModelServer([given]) as server, serving(recorder=writing, budget=ledger) as proxy:
        url = proxy.url(agent(), server.base_url, price=PRICE)
        with contextlib.suppress(openai.OpenAIError, ValueError, AttributeError):
            assert not ask(url, stream=stream).choices

    # a client may give up on what it cannot read before the proxy has read it all
    assert proxy.failure(RUN) is not None
    assert proxy.faults(RUN) == ()
    assert (ledger.spent().calls, ledger.spent().in_flight) == (charged, 0)
    writing.close()
    assert "request" not in (tmp_path / "main.jsonl").read_text()


@each(("status", "is_servers"), [(400, False), (404, False), (422, False), (401, True), (503, True)])
def test_only_what_the_server_failed_at_is_its_failure(status: int, is_servers: bool) -> None:
    """A request that is refused as wrong is its sender's affair, and what other paths say concerns no chat."""
    with ModelServer([fault.status(status)]) as server, serving() as proxy:
        url = proxy.url(agent(), server.base_url)
        with pytest.raises(openai.APIStatusError):
            ask(url)
        with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client, contextlib.suppress(openai.OpenAIError):
            client.get("/nothing", cast_to=str)

        assert (proxy.failure(RUN) is not None) == is_servers


def test_another_path_that_is_not_there_is_no_failure() -> None:
    """Agents look for what a server has."""
    with ModelServer(echo) as server, serving() as proxy:
        url = proxy.url(agent(), server.base_url)
        with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client, pytest.raises(openai.NotFoundError):
            client.embeddings.create(model="m", input="Hello")

        assert proxy.failure(RUN) is None


def test_the_clock_of_a_run_stands_still_while_a_call_waits_for_a_budget(ledger: Ledger) -> None:
    """What other calls hold is no time of the run's own."""
    seen: list[str] = []

    @contextlib.asynccontextmanager
    async def paused() -> AsyncIterator[None]:
        seen.append("stopped")
        try:
            yield
        finally:
            seen.append("goes on")

    async def freed(_: float) -> None:
        seen.append("waits")
        ledger.release(held)

    ledger.begin(RUN, calls=1)
    held = ledger.reserve(agent(), 0.0)
    with ModelServer(echo) as server, serving(budget=ledger, sleep=freed) as proxy:
        ask(proxy.url(agent(), server.base_url, price=PRICE, paused=paused))

    assert seen == ["stopped", "waits", "goes on"]


def test_a_server_that_is_not_there_is_named(ledger: Ledger) -> None:
    """A client may try again (502); nothing is charged."""
    unreachable = pytest.raises(openai.APIStatusError, match=r"127\.0\.0\.1:9/v1 could not be reached")
    with serving(budget=ledger) as proxy, unreachable:
        ask(proxy.url(agent(), server_gone()))

    assert (ledger.spent().calls, ledger.spent().in_flight) == (0, 0)


@pytest.mark.parametrize(
    ("named", "told"), [("socks5://127.0.0.1:9", "a socks5 proxy"), ("x://ada:secret@y", "no address of a proxy")]
)
def test_a_proxy_of_the_environment_that_cannot_be_used_is_told(
    named: str, told: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent is told why and need not try again, nothing is sent and nothing is charged."""
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, named)

    async def posted(url: str) -> tuple[int, str | None, str]:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
        async with aiohttp.ClientSession() as session, session.post(f"{url}/chat/completions", json=body) as answer:
            return answer.status, answer.headers.get("x-should-retry"), await answer.text()

    with serving(budget=ledger) as proxy:
        status, again, said = asyncio.run(posted(proxy.url(agent(), "http://models.example/v1", price=PRICE)))

    assert (status, again) == (500, "false")
    assert "models.example/v1 cannot be asked" in said
    assert told in said
    assert "secret" not in said
    assert told in str(proxy.failure(RUN))
    assert (ledger.spent().calls, ledger.spent().in_flight) == (0, 0)


def test_a_client_that_gives_up_leaves_nothing_held(ledger: Ledger) -> None:
    """A hanging server is charged at the worst case when its client leaves, and known as the failure."""

    async def scenario(url: str) -> None:
        async with openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0, timeout=0.3) as client:
            with pytest.raises(openai.APITimeoutError):
                await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello"}])

    with ModelServer([fault.hang()]) as server, serving(budget=ledger) as proxy:
        asyncio.run(scenario(proxy.url(agent(), server.base_url, price=PRICE)))
    assert "gave up" in str(proxy.failure(RUN))
    assert (ledger.spent().calls, ledger.spent().unpriced, ledger.spent().in_flight) == (1, 1, 0)
    assert ledger.spent().cost_usd > 8192 * 2e-6


def test_a_closed_run_is_refused_and_what_it_took_stays() -> None:
    """A hung agent's late calls reach nobody."""
    with ModelServer(echo) as server, serving() as proxy:
        url = proxy.url(agent(), server.base_url)
        ask(url)
        proxy.closed(RUN)

        with pytest.raises(openai.PermissionDeniedError, match="it is over"):
            ask(url, max_retries=3)
        assert len(server.requests) == proxy.usage(RUN).calls == 1


def test_a_run_is_told_by_url_or_header_else_it_is_the_sessions() -> None:
    """An unknown id is refused, unless ids are open."""
    with ModelServer(echo) as server, serving(upstream=server.base_url) as proxy:
        plain = proxy.url(Caller(role="agent"))
        token = proxy.url(agent()).split("/")[-2]
        ask(plain, extra_headers={"X-Agentbench-Run": token})
        ask(plain)
        ask(plain)
        with pytest.raises(openai.PermissionDeniedError, match="no run 'nobody'"):
            ask(plain.replace("/v1", "/run/nobody/v1"))

        assert (proxy.usage(RUN).calls, proxy.usage(None).calls) == (1, 2)
        assert "x-agentbench-run" not in server.requests[0].headers
    with ModelServer(echo) as server, serving(upstream=server.base_url, open_runs=True) as proxy:
        ask(proxy.url(Caller(role="agent")).replace("/v1", "/run/mine/v1"))

        assert [str(each.run) for each in proxy.callers()] == ["::mine#1.1"]


def test_other_paths_pass_live_and_are_named() -> None:
    """What is never recorded is counted, and refused where nothing may be asked live."""
    with ModelServer({"m": echo}) as server, serving() as proxy:
        url = proxy.url(agent(), server.base_url)
        with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
            assert [model.id for model in client.models.list()] == ["m"]
            with pytest.raises(openai.NotFoundError):
                client.embeddings.create(model="m", input="Hello")

        assert proxy.unrecorded(RUN) == {"GET /models": 1, "POST /embeddings": 1}
    with serving(replaying=True) as proxy, openai.OpenAI(base_url=proxy.url(agent()), api_key=KEY) as client:
        with pytest.raises(openai.UnprocessableEntityError, match="GET /models cannot be replayed"):
            client.models.list()
        assert isinstance(proxy.faults(RUN)[0], CassetteMissError)


def test_a_body_that_is_no_object_is_refused() -> None:
    """The proxy says what is wrong, in the API's form."""

    async def scenario(url: str) -> tuple[int, Any]:
        async with aiohttp.ClientSession() as session, session.post(f"{url}/chat/completions", data=b"[") as answer:
            return answer.status, await answer.json()

    with serving() as proxy:
        status, body = asyncio.run(scenario(proxy.url(agent(), server_gone())))

    assert (status, body["error"]["type"]) == (400, "agentbench_bad_request")


def test_what_no_run_sent_is_refused_in_replay() -> None:
    """An address without a run has no recordings, so nothing of it goes live."""
    with ModelServer(echo) as server, serving(upstream=server.base_url, replaying=True) as proxy:
        with pytest.raises(openai.UnprocessableEntityError, match="no known run"):
            ask(proxy.url(Caller(role="agent")))

        assert server.requests == []


def test_an_environment_that_leads_nowhere_concerns_only_those_who_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with a server of its own goes on; what no run can be told of is refused."""
    monkeypatch.setenv("OPENAI_BASE_URL", "nowhere")
    with ModelServer(echo) as server, serving() as proxy:
        url = proxy.url(agent(), server.base_url)

        assert ask(url).choices[0].message.content == "You said: Hello"
        with pytest.raises(openai.PermissionDeniedError):
            ask(url.partition("/run/")[0] + "/v1")
    with pytest.raises(ProviderError, match="upstream"):
        asyncio.run(Proxy(open_runs=True).start())


@each("upstream", ["ftp://x/v1", "localhost:8000", "own"])
def test_an_upstream_that_leads_nowhere_is_refused(upstream: str) -> None:
    """No URL, and the proxy itself, are errors when a run is registered."""
    with serving() as proxy:
        own = proxy.url(Caller(role="agent"), server_gone())
        with pytest.raises(ProviderError, match="upstream"):
            proxy.url(agent(), own if upstream == "own" else upstream)


def test_a_port_that_is_taken_is_named() -> None:
    """The port stands in the message."""
    with serving() as proxy:
        port = int(proxy.url(agent(), server_gone()).split(":")[2].split("/")[0])
        with pytest.raises(ProviderError, match=f"port {port}"):
            asyncio.run(Proxy(port=port, upstream=server_gone()).start())


def test_large_and_odd_answers_pass() -> None:
    """Ten million characters, a request of two megabytes, and lone surrogates survive the way."""
    with ModelServer([fault.big(10), text("\ud83d odd")]) as server, serving() as proxy:
        url = proxy.url(agent(), server.base_url)

        assert len(ask(url, "x" * 2_000_000).choices[0].message.content) == 10_000_000
        assert ask(url).choices[0].message.content == "\ud83d odd"


def test_two_runs_side_by_side_replay_their_own(tmp_path: Path, ledger: Ledger) -> None:
    """64 calls in flight of two interleaved runs, streamed and not: each has its own answers, live and replayed."""
    answers = {"n": 0}

    def counting(request: ModelRequest) -> Answer:
        answers["n"] += 1
        return text(f"{request.last} {answers['n']}").using(input=10, output=10)

    async def play(urls: dict[str, str]) -> dict[str, list[str]]:
        async with contextlib.AsyncExitStack() as clients:
            asked = {}
            for name, url in urls.items():
                client = await clients.enter_async_context(openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0))
                asked[name] = asyncio.gather(*(one(client, name, n) for n in range(32)))
            return {name: sorted(await several) for name, several in asked.items()}

    async def one(client: openai.AsyncOpenAI, name: str, n: int) -> str:
        messages: Any = [{"role": "user", "content": f"{name} {n % 16}"}]  # every request comes twice
        if n < 16:
            whole = await client.chat.completions.create(model="m", messages=messages)
            return whole.choices[0].message.content or ""
        said = ""
        async for chunk in await client.chat.completions.create(model="m", messages=messages, stream=True):
            said += "".join(choice.delta.content or "" for choice in chunk.choices)
        return said

    ledger.start(cost_usd=1.0)
    writing = recorder(tmp_path, Mode.RECORD)
    with ModelServer(counting, latency=0.05) as server:
        with serving(recorder=writing, budget=ledger, price=PRICE, upstream=server.base_url) as proxy:
            live = asyncio.run(play({"a": proxy.url(agent()), "b": proxy.url(agent(OTHER))}))
            assert [proxy.usage(run).calls for run in (RUN, OTHER)] == [32, 32]
        assert server.peak_in_flight > 32
    for run in (RUN, OTHER):
        writing.finished(run)
    writing.close()
    merge(tmp_path)
    assert (ledger.spent().calls, ledger.spent().in_flight) == (64, 0)
    assert ledger.spent().cost_usd == pytest.approx(64 * 30e-6)

    with serving(recorder=recorder(tmp_path, Mode.REPLAY), replaying=True, upstream=server_gone()) as proxy:
        replayed = asyncio.run(play({"b": proxy.url(agent(OTHER)), "a": proxy.url(agent())}))

    assert replayed == live
    assert KEY not in "".join(path.read_text(errors="replace") for path in tmp_path.iterdir())


def test_a_call_waits_where_only_calls_in_flight_are_in_the_way(ledger: Ledger) -> None:
    """Worst cases hold far more than calls cost: all of them are made, none refused."""

    async def play(url: str) -> None:
        async with openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
            messages: Any = [{"role": "user", "content": "Hello"}]
            asked = [client.chat.completions.create(model="m", messages=messages, max_tokens=100) for _ in range(20)]
            await asyncio.gather(*asked)

    ledger.start(cost_usd=0.003)  # 20 calls cost 0.0024, and hold 0.0002 and more each
    with ModelServer(echo, latency=0.01) as server, serving(budget=ledger) as proxy:
        asyncio.run(play(proxy.url(agent(), server.base_url, price=PRICE)))

        assert proxy.usage(RUN).calls == 20
        assert proxy.faults(RUN) == ()


def test_no_key_is_in_any_file(tmp_path: Path, ledger: Ledger) -> None:
    """Keys in headers, query and body of a request reach the server, and no file."""
    writing = recorder(tmp_path, Mode.RECORD)
    with ModelServer(echo) as server, serving(recorder=writing, budget=ledger) as proxy:
        url = proxy.url(agent(), server.base_url, price=PRICE)
        ask(url, f"my key is {KEY}", extra_headers={"api-key": KEY}, extra_query={"key": KEY})
        assert server.requests[0].headers["api-key"] == KEY
    writing.finished(RUN)
    writing.close()
    merge(tmp_path)

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 2
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert json.loads((tmp_path / "cassette.jsonl").read_text().splitlines()[-1])
