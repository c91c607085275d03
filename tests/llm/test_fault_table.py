"""What each way in which a model server misbehaves leads to, over both transports.

A row says what the server does, and then: how often it is asked, whether the call is answered, what the error says,
and what the budget is charged. Nothing here waits: only `hang` takes its quarter of a second of real time.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_agentbench.core.errors import AgentBenchError, ProviderError, SendError
from pytest_agentbench.core.model import ModelSpec, Price
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.llm.chat import Ways
from pytest_agentbench.llm.ledger import Ledger
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.llm.reply import ChatReply
from pytest_agentbench.testing import ModelServer, call, fault, text
from pytest_agentbench.testing.script import Given
from tests.llm.virtual import Pauses, Time
from tests.tables import each

GOOD = text("fine").using(input=10, output=10)
CALLER = Caller(role="user", run=RunKey(suite="bench", scenario="refund"))


@dataclass(frozen=True, kw_only=True)
class Row:
    """`faults` are given one after another; the last request of an answered row gets a good completion.

    `asked` is how many requests the server sees, `slept` the seconds waited in all (None: any), `says` parts of the
    error's text, `charged` the number of calls that the budget counts, `trials` that of requests without our defaults.
    """

    faults: tuple[Given, ...]
    asked: int
    charged: int
    answered: bool = True
    says: tuple[str, ...] = ()
    kind: type[AgentBenchError] = SendError
    slept: float | None = None
    seconds: float = 30.0
    paused: bool = True
    trials: int = 0
    check: Callable[[ChatReply], bool] = field(default=lambda reply: reply.text == "fine")


def passing(given: Given, *, charged: int = 1, slept: float | None = 0.5, **more: Any) -> Row:
    """A fault that happens once: the request is sent again, and answered."""
    return Row(faults=(given,), asked=2, charged=charged, slept=slept, **more)


def lasting(given: Given, *says: str, charged: int = 0, **more: Any) -> Row:
    """A fault that stays: after two retries the call fails, saying how often it was tried."""
    return Row(
        faults=(given,) * 3, asked=3, charged=charged, answered=False, says=(*says, "tried 3 times"), slept=1.5, **more
    )


def final(given: Given, *says: str, charged: int = 0, **more: Any) -> Row:
    """An answer after which sending again is pointless: the call fails at once."""
    return Row(faults=(given,), asked=1, charged=charged, answered=False, says=says, slept=0, paused=False, **more)


def refused(given: Given, *says: str) -> Row:
    """A request that is refused for no field that is named: it is sent once more without what we added."""
    return Row(faults=(given, given), asked=2, charged=0, answered=False, says=says, trials=1, slept=0, paused=False)


def plain(given: Given, check: Callable[[ChatReply], bool]) -> Row:
    """Not the provider's fault: the reply is handed on as it is, and its role decides."""
    return Row(faults=(given,), asked=1, charged=1, check=check, slept=0, paused=False)


TABLE = {
    # asked to slow down: everybody waits, no retry is used up (`retries` is 2, the server refuses 5 times)
    "429": Row(faults=(fault.status(429),) * 5, asked=6, charged=1),
    "429, retry-after": passing(fault.status(429, retry_after=7), slept=7),
    "429, retry-after too long": passing(fault.status(429, retry_after=3600), slept=60),
    "429 for ever": Row(
        faults=(fault.status(429, "slow down"),) * 40,
        asked=16,
        charged=0,
        answered=False,
        says=("429 Too Many Requests", "slow down", "tried 16 times"),
    ),
    "429, no credit": final(
        fault.raw('{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}', status=429),
        "429",
        "You exceeded your quota",
    ),
    "503, retry-after": Row(faults=(fault.status(503, retry_after=7),) * 3, asked=4, charged=1, slept=21),
    # passing trouble: sent again after a growing random wait
    "408": passing(fault.status(408)),
    "409": passing(fault.status(409)),
    "500": passing(fault.status(500)),
    "500 for ever": lasting(fault.status(500, "out of cheese"), "500 Internal Server Error", "'out of cheese'"),
    "503": passing(fault.status(503)),
    # what the server may have worked on is charged at its worst case, and once more for the answer
    "hang": passing(fault.hang(), charged=2, seconds=0.25),
    "hang in mid-body": passing(fault.hang(sent=0.5), charged=2, seconds=0.25),
    "hang for ever": lasting(fault.hang(), "did not answer within 0.25 s", charged=3, seconds=0.25),
    "reset": passing(fault.reset(sent=0), charged=2),
    "reset in mid-body": passing(fault.reset(), charged=2),
    "reset for ever": lasting(fault.reset(), "broke the connection off", charged=3),
    "malformed": passing(fault.malformed(), charged=2),
    "malformed for ever": lasting(fault.malformed(), "not JSON", '{"id":', charged=3),
    "not an object": passing(fault.raw('["fine"]'), charged=2),
    "not an object for ever": lasting(fault.raw('["fine"]'), "JSON array instead of an object", charged=3),
    "nothing": lasting(fault.raw(""), "not JSON", "nothing", charged=3),
    "an error with status 200": passing(fault.raw('{"error": {"message": "overloaded", "code": 500}}')),
    # answered, but with no completion: charged, not retried
    "wrong schema": final(
        fault.raw('{"choices": [{"text": "fine"}]}'), "message is missing", kind=ProviderError, charged=1
    ),
    "choices of a wrong type": final(
        fault.raw('{"choices": "fine"}'), "choices is '\"fine\"', not a list", kind=ProviderError, charged=1
    ),
    "empty choices": final(fault.no_choices(), "no choices", kind=ProviderError, charged=1),
    "tool call without a name": final(
        fault.raw('{"choices": [{"message": {"tool_calls": [{"id": "1", "function": {"arguments": "{}"}}]}}]}'),
        "name of a tool call is missing",
        kind=ProviderError,
        charged=1,
    ),
    # refused: nothing was charged
    "400": refused(fault.status(400, "bad tools"), "400 Bad Request", "'bad tools'"),
    "400 of our bound": Row(faults=(fault.status(400),), asked=2, charged=1, trials=1, slept=0, paused=False),
    "401": final(fault.status(401, "wrong key sk-planted-key"), "401 Unauthorized", "'wrong key [hidden]'"),
    "403": final(fault.status(403), "403 Forbidden"),
    "404": final(fault.status(404), "404 Not Found"),
    "422": refused(fault.status(422), "422 Unprocessable"),
    "302": final(fault.raw("", status=302), "302 Found", "redirect"),
    # good answers, however odd
    "tool call to an unknown tool": plain(call("no_such_tool", a=1), lambda r: r.calls[0].name == "no_such_tool"),
    "arguments that are not JSON": plain(call("find", '{"id": '), lambda r: r.calls[0].arguments == '{"id": '),
    "lone surrogates": plain(text("a\ud800b"), lambda r: r.text == "a\ud800b"),
    "10 MB": plain(fault.big(10), lambda r: len(r.text) == 10_000_000),
    "40 MB": final(fault.raw(b" " * 40_000_000), "more than 32 MB", charged=1),
}

TRANSPORTS = ("direct", "openai")


@each("transport", TRANSPORTS)
@each("row", TABLE.values(), ids=TABLE)
def test_a_misbehaving_server_leads_to(row: Row, transport: Any) -> None:
    """Each fault leads to what its row says: requests, waits, error, money."""
    time, pauses, ledger = Time(), Pauses(), Ledger(None)
    ways = Ways(sleep=time.sleep, random=lambda: 1.0, now=time.now, budget=ledger)
    price = Price(input=1000, output=1000)
    with ModelServer([*row.faults, GOOD]) as server:
        spec = ModelSpec(
            model="m",
            base_url=server.base_url,
            api_key="sk-planted-key",
            retries=2,
            seconds=row.seconds,
            transport=transport,
            price=price,
        )
        outcome, usage = asyncio.run(ask(spec, ways, pauses))
        asked = len(server.requests)
    spent = ledger.spent()
    ledger.close()

    if row.answered:
        assert isinstance(outcome, ChatReply), outcome
        assert row.check(outcome)
    else:
        assert type(outcome) is row.kind, outcome
        assert [part for part in row.says if part not in str(outcome)] == []
        assert "sk-planted-key" not in str(outcome)
    assert asked == row.asked
    assert usage.retries == asked - 1 - row.trials
    assert (pauses.count > 0, pauses.open) == (row.paused, 0)
    assert row.slept is None or sum(time.slept) == pytest.approx(row.slept, abs=0.01)
    assert (spent.calls, spent.in_flight) == (row.charged, 0)


@each("transport", TRANSPORTS)
def test_a_server_that_is_not_there(transport: Any) -> None:
    """A refused connection is tried again, named, and charged to nobody."""
    time, pauses, ledger = Time(), Pauses(), Ledger(None)
    ways = Ways(sleep=time.sleep, random=lambda: 1.0, now=time.now, budget=ledger)
    with ModelServer() as server:
        gone = server.base_url
    spec = ModelSpec(model="m", base_url=gone, retries=2, transport=transport)

    outcome, usage = asyncio.run(ask(spec, ways, pauses))
    spent = ledger.spent()
    ledger.close()

    assert isinstance(outcome, SendError)
    assert f"{gone} cannot be reached" in str(outcome)
    assert "tried 3 times" in str(outcome)
    assert (usage.calls, usage.retries, spent.calls, spent.in_flight) == (0, 2, 0, 0)


async def ask(spec: ModelSpec, ways: Ways, pauses: Pauses) -> tuple[ChatReply | AgentBenchError, Any]:
    """Ask once and give the answer, or the error, and the usage."""
    models = Models(environ={}, ways=ways)
    chat = models.chat(spec, CALLER, paused=pauses)
    try:
        return await chat.complete([{"role": "user", "content": "h\udc80i"}]), chat.usage
    except AgentBenchError as error:
        return error, chat.usage
    finally:
        await models.close()
