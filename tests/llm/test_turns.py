"""Requests that may teach something go one by one: however they end, in whatever loop, nobody waits for ever."""

import asyncio
import threading
from contextlib import nullcontext

from pydantic import BaseModel

from pytest_agentbench.core.errors import SendError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.llm.capabilities import Turns
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.llm.structured import structured
from pytest_agentbench.testing import ModelRequest, ModelServer, fault, text
from pytest_agentbench.testing.script import Given
from tests.llm.virtual import Pauses
from tests.tables import each

HELLO = [{"role": "user", "content": "hello"}]


class Answered(BaseModel):
    """An answer of a form."""

    kept: bool


class Crowd:
    """Several who need a turn; `order` says who went, `at_once` how many at a time."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.is_known = False
        self.order: list[int] = []
        self.inside = self.at_once = 0
        self.blocked = asyncio.Event()

    async def go(self, number: int, *, learns: bool = False, until: asyncio.Event | None = None) -> None:
        """Take the turn, for ever where nothing ends it."""
        async with self.turns.one(nullcontext, needed=lambda: not self.is_known):
            self.order.append(number)
            self.inside += 1
            self.at_once = max(self.at_once, self.inside)
            try:
                await (until.wait() if until else asyncio.sleep(0))
                self.is_known |= learns
            finally:
                self.inside -= 1


async def settled() -> None:
    """Let every task go as far as it can."""
    for _ in range(50):
        await asyncio.sleep(0)


def test_who_learns_nothing_lets_the_next_one_go_alone() -> None:
    """As long as nothing is known they go in order of arrival; then all that are left go at once."""

    async def scene() -> Crowd:
        crowd = Crowd()
        never = asyncio.Event()
        tasks = [asyncio.create_task(crowd.go(number, learns=number == 2)) for number in range(3)]
        await asyncio.sleep(0)
        tasks += [asyncio.create_task(crowd.go(number, until=never)) for number in range(3, 6)]
        await settled()
        never.set()
        await asyncio.gather(*tasks)
        return crowd

    crowd = asyncio.run(scene())

    assert crowd.order == list(range(6))
    assert crowd.at_once == 3  # those that came after the one that learnt


def test_a_cancelled_first_request_wakes_one() -> None:
    """It has taught nothing: the next one goes alone, and who is cancelled while it waits is passed over."""

    async def scene() -> list[int]:
        crowd = Crowd()
        never = asyncio.Event()
        tasks = [asyncio.create_task(crowd.go(number, until=never)) for number in range(4)]
        await settled()
        for cancelled in (1, 0):
            tasks[cancelled].cancel()
            await settled()
        went = list(crowd.order)
        never.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        return [*went, -1, *crowd.order]

    assert asyncio.run(scene()) == [0, 2, -1, 0, 2, 3]


def test_who_is_cancelled_just_when_its_turn_has_come_passes_it_on() -> None:
    """Otherwise all others would wait for ever."""

    async def scene() -> list[int]:
        crowd = Crowd()
        gate = asyncio.Event()
        first = asyncio.create_task(crowd.go(0, until=gate))
        others = [asyncio.create_task(crowd.go(number)) for number in (1, 2)]
        await settled()
        gate.set()
        await first
        others[0].cancel()  # woken, and not yet running
        await asyncio.gather(*others, return_exceptions=True)
        return crowd.order

    assert asyncio.run(scene())[-1] == 2


def test_loops_of_several_threads_share_the_turns() -> None:
    """Eight threads with a loop each, four requests in each loop: all of them end."""
    turns = Turns()
    passed: list[int] = []
    left = [20]

    def needed() -> bool:
        return left[0] > 0

    async def scene(thread: int) -> None:
        async def one() -> None:
            async with turns.one(nullcontext, needed=needed):
                await asyncio.sleep(0)
                left[0] -= 1
            passed.append(thread)

        await asyncio.gather(*(one() for _ in range(4)))

    threads = [threading.Thread(target=lambda n=n: asyncio.run(scene(n)), daemon=True) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert sorted(passed) == [n for n in range(8) for _ in range(4)]


def test_a_first_request_that_hangs_holds_the_others_up_for_its_own_time_out() -> None:
    """The clock of those that wait stands still meanwhile."""
    asked = [0]

    def react(_: ModelRequest) -> Given:
        asked[0] += 1
        return fault.hang() if asked[0] == 1 else text("fine")

    async def scene(base_url: str) -> tuple[list[object], int]:
        models, pauses = Models(environ={}), Pauses()
        spec = ModelSpec(model="m", base_url=base_url, retries=0, seconds=0.3)
        chats = [models.chat(spec, Caller(role="user"), paused=pauses) for _ in range(5)]
        try:
            ended = await asyncio.gather(*(chat.complete(HELLO) for chat in chats), return_exceptions=True)
        finally:
            await models.close()
        return [type(one) if isinstance(one, BaseException) else one.text for one in ended], pauses.count

    with ModelServer(react) as server:
        ended, waited = asyncio.run(scene(server.base_url))

    assert ended == [SendError, "fine", "fine", "fine", "fine"]
    assert waited == 4


@each("is_question", [False, True], ids=["request", "question"])
def test_a_run_whose_time_is_up_at_a_server_that_hangs_lets_all_others_go(is_question: bool) -> None:
    """One after the other, each would hold all that wait up for the whole time of its run."""

    async def scene(base_url: str) -> int:
        models, pauses = Models(environ={}), Pauses()
        spec = ModelSpec(model="m", base_url=base_url)
        chats = [models.chat(spec, Caller(role="user"), paused=pauses) for _ in range(5)]
        try:
            asked = [structured(chat, Answered, HELLO) if is_question else chat.complete(HELLO) for chat in chats]
            tasks = [asyncio.create_task(one) for one in asked]
            await settled()
            assert pauses.count == 4
            await came_to(1)
            tasks[0].cancel()
            await came_to(5)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            await models.close()
        return len(server.requests)

    async def came_to(number: int) -> None:
        async with asyncio.timeout(10):
            while len(server.requests) < number:
                await asyncio.sleep(0)

    with ModelServer(lambda _: fault.hang()) as server:
        assert asyncio.run(scene(server.base_url)) == 5


@each("again", [True, False])
def test_whoever_waits_is_let_go_whatever_becomes_of_the_first(again: bool) -> None:
    """A refusal for good and one that may pass both end the wait."""
    status = 500 if again else 403

    async def scene(base_url: str) -> list[type]:
        models = Models(environ={})
        spec = ModelSpec(model="m", base_url=base_url, retries=0)
        chats = [models.chat(spec, Caller(role="user")) for _ in range(5)]
        try:
            ended = await asyncio.gather(*(chat.complete(HELLO) for chat in chats), return_exceptions=True)
        finally:
            await models.close()
        return [type(one) for one in ended]

    with ModelServer(lambda _: fault.status(status)) as server:
        assert asyncio.run(scene(server.base_url)) == [SendError] * 5
