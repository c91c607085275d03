"""One role's model: what is asked, in which order things happen, what is counted and charged."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import pytest

from pytest_agentbench.core.errors import BudgetSpentError, CassetteMissError, KeyMissingError, SendError
from pytest_agentbench.core.model import ModelSpec, Price, Usage
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.llm.capabilities import Paused
from pytest_agentbench.llm.chat import Ways
from pytest_agentbench.llm.ledger import Ledger
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller, Recorded
from pytest_agentbench.testing import ModelRequest, ModelServer, fault, text
from pytest_agentbench.testing.script import Given
from tests.llm.virtual import Pauses, Time
from tests.tables import each

T = TypeVar("T")

CALLER = Caller(role="user", run=RunKey(suite="bench", scenario="refund"))
HELLO = [{"role": "user", "content": "hello"}]
PRICE = Price(input=1_000_000, output=1_000_000)  # one dollar a token


class Memory:
    """A recorder in memory; `only` refuses what it does not hold."""

    def __init__(self, *, only: bool = False) -> None:
        self.only = only
        self.kept: list[tuple[Caller, dict[str, Any], dict[str, Any]]] = []

    def find(self, caller: Caller, body: dict[str, Any]) -> Recorded | None:
        """Give what was kept for an equal request."""
        for known, asked, response in self.kept:
            if (known, asked) == (caller, body):
                return Recorded(response=response)
        if self.only:
            raise CassetteMissError("nothing recorded")
        return None

    def keep(self, caller: Caller, body: dict[str, Any], response: dict[str, Any]) -> None:
        """Keep an answer."""
        self.kept.append((caller, body, response))

    def note(self, model: str, facts: Sequence[str]) -> None:
        """Keep nothing of servers: the answers are what these tests ask for."""


def play(scene: Callable[[Models], Awaitable[T]], ways: Ways | None = None, **options: Any) -> T:
    """Play a scene with models of its own, and close them."""

    async def played() -> T:
        models = Models(environ=options.pop("environ", {}), ways=ways, **options)
        try:
            return await scene(models)
        finally:
            await models.close()

    return asyncio.run(played())


def hanging_first(arrived: threading.Event) -> Callable[[ModelRequest], Given]:
    """A script that tells when the first request has come, never answers it, and says hi to all others."""

    def react(request: ModelRequest) -> Given:
        arrived.set()
        return fault.hang() if request.number == 1 else "hi"

    return react


def test_what_is_asked_follows_from_the_spec_and_the_call() -> None:
    """What the spec sets wins over what the call prefers; extra keys, seed and headers go along."""
    with ModelServer(["hi"]) as server:
        spec = ModelSpec(
            model="m",
            base_url=server.base_url + "/",
            api_key="sk-1",
            temperature=0.1,
            max_tokens=9,
            seed=7,
            extra_body={"top_p": 0.5},
            headers={"X-Team": "a"},
        )
        reply = play(lambda models: models.chat(spec, CALLER).complete(HELLO, temperature=0.9))
        request = server.requests[0]

    assert reply.text == "hi"
    assert request.body == {
        "model": "m",
        "messages": HELLO,
        "temperature": 0.1,
        "seed": 7,
        "max_tokens": 9,
        "top_p": 0.5,
    }
    assert (request.headers["authorization"], request.headers["x-team"]) == ("Bearer sk-1", "a")


def test_usage_adds_up_and_an_unknown_price_is_not_nothing() -> None:
    """Calls, tokens and cost are summed; calls without a price or without token counts count as unpriced."""
    answers = [text("a").using(input=10, output=2, cached=4), text("b").without_usage()]
    with ModelServer(answers) as server:
        spec = ModelSpec(model="m", base_url=server.base_url, price=PRICE)

        async def scene(models: Models) -> tuple[Usage, list[float | None]]:
            chat = models.chat(spec, CALLER)
            costs = [(await chat.complete(HELLO)).cost_usd for _ in range(2)]
            return chat.usage, costs

        usage, costs = play(scene)

    assert costs == [12, None]
    assert usage.model_copy(update={"seconds": 0.0, "latencies": ()}) == Usage(
        calls=2, input_tokens=10, cached_tokens=4, output_tokens=2, cost_usd=12, unpriced=1
    )
    assert usage.seconds > 0
    assert len(usage.latencies) == 2


def test_a_recorded_answer_needs_no_server_no_key_and_no_money() -> None:
    """What a cassette holds is given without opening anything, and is counted as replayed only."""
    memory = Memory()
    with ModelServer(["hi"]) as server:
        spec = ModelSpec(model="m", base_url=server.base_url)
        play(lambda models: models.chat(spec, CALLER).complete(HELLO), recorder_of=lambda _: memory)
    memory.only = True
    ledger = Ledger(None)
    ledger.start(calls=0)

    async def replay(models: Models) -> tuple[Any, Usage]:
        chat = models.chat(ModelSpec(model="m"), CALLER)
        return await chat.complete(HELLO), chat.usage

    reply, usage = play(replay, Ways(budget=ledger), recorder_of=lambda _: memory)
    ledger.close()

    assert (reply.text, reply.replayed, reply.cost_usd) == ("hi", True, 0)
    assert usage == Usage(replayed=1)
    assert [caller for caller, _, _ in memory.kept] == [CALLER]


def test_recorders_are_asked_for_by_caller_and_a_miss_is_passed_on() -> None:
    """The caller chooses the recorder; its miss is the call's error."""
    asked: list[Caller] = []

    def recorder_of(caller: Caller) -> Memory:
        asked.append(caller)
        return Memory(only=True)

    async def scene(models: Models) -> None:
        for caller in (CALLER, Caller(role="critic")):
            with pytest.raises(CassetteMissError):
                await models.chat(ModelSpec(model="m"), caller).complete(HELLO)

    play(scene, recorder_of=recorder_of)

    assert asked == [CALLER, Caller(role="critic")]


def test_an_answer_that_cannot_be_read_is_not_kept() -> None:
    """A cassette holds no answers that fail every replay."""
    memory = Memory()
    with ModelServer([fault.no_choices()]) as server:
        spec = ModelSpec(model="m", base_url=server.base_url)
        with pytest.raises(Exception, match="no choices"):
            play(lambda models: models.chat(spec, CALLER).complete(HELLO), recorder_of=lambda _: memory)

    assert memory.kept == []


def test_nothing_is_sent_that_a_budget_does_not_hold() -> None:
    """The budget is asked first, and what is left over of a reservation is given back."""
    ledger = Ledger(None)
    ledger.start(cost_usd=100)
    with ModelServer([text("a").using(input=1, output=2)] * 2) as server:
        spec = ModelSpec(model="m", base_url=server.base_url, price=PRICE, max_tokens=20)

        async def scene(models: Models) -> None:
            await models.chat(spec, CALLER).complete(HELLO)
            with pytest.raises(BudgetSpentError):
                await models.chat(spec.model_copy(update={"max_tokens": 100}), CALLER).complete(HELLO)

        play(scene, Ways(budget=ledger))
        asked = len(server.requests)
    spent = ledger.spent()
    ledger.close()

    assert asked == 1
    assert (spent.cost_usd, spent.calls, spent.in_flight) == (3, 1, 0)


def test_a_call_that_is_cancelled_while_the_server_works_is_charged_and_leaves_its_slot() -> None:
    """Nobody can tell what the server did: the worst case is charged; the next call goes on."""
    ledger, arrived = Ledger(None), threading.Event()
    with ModelServer(hanging_first(arrived)) as server:
        spec = ModelSpec(model="m", base_url=server.base_url, in_flight=1)

        async def scene(models: Models) -> str:
            task = asyncio.create_task(models.chat(spec, CALLER).complete(HELLO))
            await asyncio.to_thread(arrived.wait, 5)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return (await models.chat(spec, CALLER).complete(HELLO)).text

        said = play(scene, Ways(budget=ledger))
    spent = ledger.spent()
    ledger.close()

    assert said == "hi"
    assert (spent.calls, spent.in_flight) == (2, 0)


def test_a_call_that_is_cancelled_before_it_was_sent_costs_nothing() -> None:
    """Waiting for its turn, a call holds money; cancelled there, it gives it back."""
    ledger, arrived = Ledger(None), threading.Event()
    with ModelServer(hanging_first(arrived)) as server:
        spec = ModelSpec(model="m", base_url=server.base_url, in_flight=1)

        async def scene(models: Models) -> None:
            first = asyncio.create_task(models.chat(spec, CALLER).complete(HELLO))
            second = asyncio.create_task(models.chat(spec, CALLER).complete(HELLO))
            await asyncio.to_thread(arrived.wait, 5)
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)
            assert (ledger.spent().calls, ledger.spent().in_flight) == (0, 1)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)

        play(scene, Ways(budget=ledger))
    ledger.close()


def test_waiting_stops_the_runs_clock_and_working_does_not() -> None:
    """The clock stands still in the line and between tries, and runs while the server is asked."""
    time = Time()
    pauses = {"first": Pauses(), "second": Pauses()}
    with ModelServer([text("a").after(0.05), fault.status(500), "c"]) as server:
        spec = ModelSpec(model="m", base_url=server.base_url, in_flight=1)

        async def scene(models: Models) -> None:
            await asyncio.gather(
                *(models.chat(spec, CALLER, paused=paused).complete(HELLO) for paused in pauses.values())
            )

        play(scene, Ways(sleep=time.sleep, now=time.now, random=lambda: 1.0))

    assert [(one.count, one.open) for one in pauses.values()] == [(0, 0), (2, 0)]


def test_a_clock_that_refuses_to_go_on_leaves_the_slot_free() -> None:
    """A run whose time is up just when its turn comes gives the turn to the next."""

    class TimeUp(Pauses):
        """A clock that raises where the wait ends."""

        def __call__(self) -> Any:
            """Stop the clock."""
            return self

        async def __aenter__(self) -> None:
            """Begin to wait."""

        async def __aexit__(self, *raised: object) -> None:
            """Find that time is up."""
            raise TimeoutError

    time_up: Paused = TimeUp()
    with ModelServer([text("a").after(0.02), "b"]) as server:
        spec = ModelSpec(model="m", base_url=server.base_url, in_flight=1)

        async def scene(models: Models) -> list[Any]:
            first = models.chat(spec, CALLER).complete(HELLO)
            second = models.chat(spec, CALLER, paused=time_up).complete(HELLO)
            done = await asyncio.gather(first, second, return_exceptions=True)
            return [*done, (await models.chat(spec, CALLER).complete(HELLO)).text]

        _, failed, said = play(scene)

    assert isinstance(failed, TimeoutError)
    assert said == "b"


def test_a_rate_limited_provider_slows_many_runs_down_and_loses_none() -> None:
    """A server that takes three at a time and refuses the rest answers all of 60 calls with no retries allowed."""
    time = Time()
    server = ModelServer(lambda _: fault.status(429) if server.in_flight > 3 else text("ok").after(0.002))
    with server:
        spec = ModelSpec(model="m", base_url=server.base_url, retries=0)

        async def scene(models: Models) -> list[str]:
            replies = await asyncio.gather(*(models.chat(spec, CALLER).complete(HELLO) for _ in range(60)))
            return [reply.text for reply in replies]

        said = play(scene, Ways(sleep=time.sleep, now=time.now, random=lambda: 1.0))

    assert said == ["ok"] * 60


def test_a_missing_key_names_its_variable_before_anything_is_set_aside() -> None:
    """OpenAI's own server needs a key; a server of one's own does not, unless the spec names a variable."""
    models = Models(environ={})
    ledger = Ledger(None)
    ledger.start(calls=0)

    with pytest.raises(KeyMissingError, match="OPENAI_API_KEY"):
        play(lambda models: models.chat(ModelSpec(model="m"), CALLER).complete(HELLO), Ways(budget=ledger))
    ledger.close()
    with pytest.raises(KeyMissingError, match="TEAM_KEY"):
        models.key_of(ModelSpec(model="m", base_url="http://here/v1", api_key_env="TEAM_KEY"))
    assert models.key_of(ModelSpec(model="m", base_url="http://here/v1")) == ""
    assert Models(environ={"OPENAI_API_KEY": "k"}).key_of(ModelSpec(model="m")) == "k"
    assert Models(environ={"OPENAI_API_KEY": "k"}).key_of(ModelSpec(model="m", api_key="mine")) == "mine"


def test_the_environment_may_name_the_server() -> None:
    """`OPENAI_BASE_URL` is where calls go that name no server."""
    with ModelServer(["hi"]) as server:
        environ = {"OPENAI_BASE_URL": server.base_url}
        reply = play(lambda models: models.chat(ModelSpec(model="m"), CALLER).complete(HELLO), environ=environ)

    assert reply.text == "hi"


def test_roles_of_all_runs_share_the_limits_of_a_provider() -> None:
    """Two roles that name the same server, with or without a final slash, have one limiter."""
    models = Models(environ={}, share=0.5)
    for url in ("http://here/v1", "http://here/v1/", "http://there/v1"):
        models.chat(ModelSpec(model="m", base_url=url, in_flight=8), CALLER)

    assert {url: limiter.bound for url, limiter in models.limiters.items()} == {
        "http://here/v1": 4,
        "http://there/v1": 4,
    }


@each("transport", ["direct", "openai"])
def test_loops_that_come_and_go_leave_no_connection_open(transport: Any) -> None:
    """Runs on loops of their own are served, and what they opened is closed as their loop ends."""
    with ModelServer(lambda _: "hi") as server:
        spec = ModelSpec(model="m", base_url=server.base_url, transport=transport)
        models = Models(environ={})
        for _ in range(3):
            assert asyncio.run(models.chat(spec, CALLER).complete(HELLO)).text == "hi"
        asyncio.run(models.close())
        asyncio.run(models.close())


@each("transport", ["direct", "openai"])
@each("base_url", ["", "here", "ftp://here/v1", "http://", "http://[::1/v1"])
def test_what_is_no_url_is_said(base_url: str, transport: Any) -> None:
    """A wrong `base_url` fails the call with its name, not the session."""
    spec = ModelSpec(model="m", base_url=base_url or "nothing", transport=transport)

    with pytest.raises(SendError, match="is no URL"):
        play(lambda models: models.chat(spec, CALLER).complete(HELLO))


def test_a_slot_is_held_only_while_a_request_is_out() -> None:
    """Who rests before it asks again, and who has its answer, keeps no slot from others."""
    held = Pauses()
    seen: list[int] = []

    async def sleep(_: float) -> None:
        seen.append(held.open)

    async def scene(models: Models) -> int:
        spec = ModelSpec(model="m", base_url=server.base_url, retries=1)
        await models.chat(spec, CALLER, working=held).complete(HELLO)
        return held.open

    with ModelServer({"m": [fault.status(500), text("hi")]}) as server:
        left = play(scene, Ways(sleep=sleep, random=lambda: 0.5))

    assert (held.count, seen, left) == (2, [0], 0)
