"""The limiter: bounds, order of arrival, refusals, recovery, cancellation, shares."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.llm.limiter import Limiter, Ticket, Window
from tests.llm.virtual import Time


def limiter(time: Time, *, share: float = 1.0, **bounds: Any) -> Limiter:
    """A limiter on virtual time, with random waits at their longest."""
    made = Limiter(now=time.now, sleep=time.sleep, random=lambda: 1.0, share=share)
    made.restrict(**bounds)
    return made


async def settled() -> None:
    """Let every task go as far as it can."""
    for _ in range(50):
        await asyncio.sleep(0)


def run(scene: Callable[[], Awaitable[None]]) -> None:
    """Play a scene on a loop of its own."""

    async def played() -> None:
        await scene()

    asyncio.run(played())


def test_no_more_than_the_bound_are_in_flight_and_the_first_come_go_first() -> None:
    """Ten requests over a bound of three pass three at a time, in order of arrival."""

    async def scene() -> None:
        gate = limiter(Time(), in_flight=3)
        order: list[int] = []
        peak = 0

        async def one(number: int) -> None:
            nonlocal peak
            ticket = await gate.enter()
            order.append(number)
            peak = max(peak, gate.in_flight)
            await asyncio.sleep(0)
            gate.answered(ticket)

        await asyncio.gather(*(one(number) for number in range(10)))

        assert order == list(range(10))
        assert (peak, gate.in_flight, gate.waiting) == (3, 0, 0)

    run(scene)


def test_a_newcomer_does_not_overtake_the_line() -> None:
    """Who could go at once waits all the same while others wait."""

    async def scene() -> None:
        gate = limiter(Time(), in_flight=1)
        first = gate.enter_now()
        second = asyncio.create_task(gate.enter())
        await settled()
        assert first is not None

        gate.answered(first)

        assert gate.enter_now() is None
        assert await second

    run(scene)


def test_a_refusal_halves_the_bound_once_for_all_sent_before_it_and_answers_raise_it_again() -> None:
    """Eight refused at once leave a bound of four; a full bound of answers raises it by one."""

    async def scene() -> None:
        time = Time()
        gate = limiter(time, in_flight=8)
        tickets = [gate.enter_now() for _ in range(8)]
        for ticket in tickets:
            assert ticket is not None
            gate.refused(ticket, 5)
        assert gate.bound == 4

        began = time.at
        for _ in range(5):  # a rise of 1/4, 1/4.25, …: five answers for one more
            full = [await gate.enter() for _ in range(int(gate.bound))]
            gate.answered(full[0])
            for ticket in full[1:]:
                gate.left(ticket)

        assert time.at - began == pytest.approx(5)
        assert gate.bound == 5

    run(scene)


def test_the_bound_never_rises_above_what_was_given_and_never_falls_below_one() -> None:
    """However often it is refused or answered, 1 <= bound <= in_flight."""

    async def scene() -> None:
        gate = limiter(Time(), in_flight=2)
        for _ in range(10):
            gate.refused(await gate.enter(), 0.1)
        assert gate.bound == 1

        for _ in range(50):
            gate.answered(await gate.enter())
        assert gate.bound == 2

    run(scene)


def test_a_refusal_without_a_time_pauses_longer_and_longer_until_an_answer() -> None:
    """1, 2, 4, … 60 s; after an answer 1 s again."""

    async def scene() -> None:
        time = Time()
        gate = limiter(time)
        waits = []
        for refused in (*[True] * 8, False, True):
            began = time.at
            ticket = await gate.enter()
            waits.append(time.at - began)
            if refused:
                gate.refused(ticket, None)
            else:
                gate.answered(ticket)
        last = time.at
        await gate.enter()

        assert waits == pytest.approx([0, 1, 2, 4, 8, 16, 32, 60, 60, 0])
        assert time.at - last == pytest.approx(1)

    run(scene)


def test_requests_per_minute_hold_in_every_minute() -> None:
    """Of 25 requests at 10 a minute 10 go at once, 10 after a minute, 5 after two."""

    async def scene() -> None:
        time = Time()
        gate = limiter(time, requests_per_minute=10)
        began = time.at
        at = []
        for _ in range(25):
            gate.answered(await gate.enter())
            at.append(round(time.at - began))

        assert at == [0] * 10 + [60] * 10 + [120] * 5

    run(scene)


def test_tokens_per_minute_count_what_answers_really_took() -> None:
    """An estimate of 600 that turns out as 100 leaves room for more."""

    async def scene() -> None:
        time = Time()
        gate = limiter(time, tokens_per_minute=1000)
        began = time.at
        for _ in range(5):
            gate.answered(await gate.enter(600), tokens=100)
        assert time.at == began

        gate.answered(await gate.enter(600), tokens=600)

        assert time.at - began == pytest.approx(60, abs=0.1)
        assert gate.counts_tokens

    run(scene)


def test_a_share_scales_all_bounds() -> None:
    """A quarter of 8 in flight is 2, of 2 a minute is one in two minutes."""

    async def scene() -> None:
        time = Time()
        gate = limiter(time, share=0.25, in_flight=8, requests_per_minute=2)
        began = time.at
        for _ in range(3):
            gate.left(await gate.enter())

        assert gate.bound == 2
        assert time.at - began == pytest.approx(240)

    run(scene)


def test_the_lowest_bound_of_several_roles_holds() -> None:
    """Roles that share a provider and bound it differently get the lowest bound."""
    gate = limiter(Time(), in_flight=8)

    gate.restrict(in_flight=3)
    gate.restrict(in_flight=5)

    assert gate.bound == 3


@given(st.lists(st.sampled_from(["cancel", "answer", "refuse", "fail"]), min_size=1, max_size=30), st.integers(1, 4))
def test_whatever_becomes_of_requests_the_line_goes_on(fates: list[str], bound: int) -> None:
    """Cancelled while waiting or while sent, answered, refused or failed: nothing stays behind, all others pass."""

    async def scene() -> None:
        gate = limiter(Time(), in_flight=bound)
        passed = []

        async def one(number: int, fate: str) -> None:
            ticket: Ticket = await gate.enter()
            passed.append(number)
            try:
                await asyncio.sleep(0)
            finally:
                if fate == "refuse":
                    gate.refused(ticket, 1)
                elif fate == "answer":
                    gate.answered(ticket)
                else:
                    gate.left(ticket)

        tasks = [asyncio.create_task(one(number, fate)) for number, fate in enumerate(fates)]
        await asyncio.sleep(0)
        for task, fate in zip(tasks, fates, strict=True):
            if fate == "cancel":
                task.cancel()
                await asyncio.sleep(0)
        await asyncio.gather(*tasks, return_exceptions=True)

        assert (gate.in_flight, gate.waiting) == (0, 0)
        assert passed == sorted(passed)
        assert {number for number, fate in enumerate(fates) if fate != "cancel"} <= set(passed)

    run(scene)


def test_another_loop_waits_in_the_same_line_and_a_lost_loop_holds_nothing() -> None:
    """A slot taken on a loop that was closed is free again; one given back wakes a waiter on another loop."""
    gate = limiter(Time(), in_flight=1)

    async def take() -> Ticket:
        return await gate.enter()

    asyncio.run(take())  # never given back

    async def scene() -> None:
        ticket = await gate.enter()
        other = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(take())))
        while not gate.waiting:
            await asyncio.sleep(0)
        gate.answered(ticket)
        assert await asyncio.wait_for(other, 5)

    run(scene)


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(0, 40)), max_size=30), st.integers(1, 30))
def test_no_minute_ever_holds_more_than_its_bound(wishes: list[tuple[float, int]], bound: int) -> None:
    """Whatever is asked when, what passed in any 60 s is within the bound, unless it passed alone."""
    window, now = Window(bound), 0.0
    passed: list[tuple[float, int]] = []
    for delay, amount in wishes:
        now += delay
        while (wait := window.wait(amount, now)) > 0:
            now += wait
        window.spend(amount, now)
        passed.append((now, amount))

    for at, _ in passed:
        within = [amount for then, amount in passed if at <= then < at + 60 - 1e-6 and amount]
        assert sum(within) <= bound or len(within) == 1


def test_a_loop_that_closes_meanwhile_is_not_woken() -> None:
    """Between the question whether it is open and the call it may have been closed."""

    class Closing(asyncio.SelectorEventLoop):
        seems_open = False

        def is_closed(self) -> bool:
            return not self.seems_open and super().is_closed()

    async def line_up() -> Ticket:
        return Ticket(0)

    loop = Closing()
    ticket = loop.run_until_complete(line_up())
    loop.close()
    loop.seems_open = True

    ticket.wake()

    loop.seems_open = False
    assert not ticket.woken.is_set()
