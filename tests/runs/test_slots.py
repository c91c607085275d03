"""Slots bound what is in flight: whoever waits longest is next, and a cancelled wait loses none."""

import asyncio

from pytest_agentbench.runs.pool import Slots


def test_slots_are_taken_in_the_order_of_asking() -> None:
    """Each one that is given back goes to whoever has waited longest, and never are more out than there are."""
    order: list[int] = []
    out: list[int] = []

    async def work(slots: Slots, number: int) -> None:
        async with slots():
            out.append(number)
            order.append(number)
            assert len(out) <= 2
            await asyncio.sleep(0)
            out.remove(number)

    async def scene() -> None:
        slots = Slots(2)
        await asyncio.gather(*(work(slots, number) for number in range(7)))

    asyncio.run(scene())

    assert order == list(range(7))


def test_a_cancelled_wait_loses_no_slot() -> None:
    """Neither one that is cancelled while it waits, nor one that was handed a slot just then."""

    async def scene() -> bool:
        slots = Slots(1)

        async def work() -> None:
            async with slots():
                pass

        async with slots():
            waiting, handed, last = (asyncio.create_task(work()) for _ in range(3))
            await asyncio.sleep(0)
            waiting.cancel()
        handed.cancel()  # the slot is its own by now, but it has not run since
        await asyncio.wait([waiting, handed, last])
        await work()
        return last.done() and not last.cancelled()

    assert asyncio.run(asyncio.wait_for(scene(), 10))
