"""What the agents do while a system does not answer: look once more, then say so, and never what they cannot know."""

from collections.abc import Callable
from typing import Any

import pytest
from support.agent import build as build_support
from weather.agent import build as build_weather
from weather.service.answers import Answers, Settings

LIAM = "liam.novak@example.com"
OUTAGES = [TimeoutError("timed out"), RuntimeError("429 Too Many Requests"), RuntimeError("500 Internal Server Error")]


def striking(tool: Callable[..., Any], calls: list[str], *, times: int, outage: Exception | None) -> Callable[..., Any]:
    """Give a tool whose first calls raise, or give nothing where there is no error to raise."""

    def call(**arguments: Any) -> Any:
        calls.append(tool.__name__)
        if calls.count(tool.__name__) > times:
            return tool(**arguments)
        if outage is not None:
            raise outage
        return ""

    call.__name__ = tool.__name__
    return call


def served(shop: Any, struck: str, *lines: str, times: int, outage: Exception | None) -> tuple[list[str], list[str]]:
    """Talk to a support agent one of whose tools is struck; give replies and calls."""
    calls: list[str] = []
    tools = [
        striking(tool, calls, times=times, outage=outage) if tool.__name__ == struck else tool for tool in shop.tools
    ]
    agent = build_support(tools)
    return [agent(line) for line in lines], calls


@pytest.mark.parametrize("outage", [*OUTAGES, None])
def test_a_lookup_is_tried_once_more(shop, outage):
    """The customer notices nothing."""
    replies, calls = served(shop, "find_customer_by_email", f"Cancel W1001. {LIAM}", times=1, outage=outage)

    assert calls == ["find_customer_by_email"] * 2
    assert "unavailable" not in replies[0]
    assert "Thank you, Liam" in replies[0]


@pytest.mark.parametrize("outage", [*OUTAGES, None])
def test_an_account_is_never_unknown_while_nobody_answers(shop, outage):
    """What is said is that the system is down; the same address is looked for when the customer writes again."""
    lines = [f"Where is my order W1001? {LIAM}", "And now?"]

    replies, calls = served(shop, "find_customer_by_email", *lines, times=2, outage=outage)

    assert "system is unavailable" in replies[0]
    assert "no account" not in replies[0]
    assert "W1001" in replies[1]
    assert len(calls) == 3


def test_a_change_is_not_tried_again(shop):
    """It may have been made; the customer is told that nobody knows."""
    lines = [f"Cancel W1001, I no longer need it. {LIAM}", "yes"]

    replies, calls = served(shop, "cancel_order", *lines, times=9, outage=TimeoutError("timed out"))

    assert calls == ["cancel_order"]
    assert "cannot tell whether this was done" in replies[-1]


def test_what_the_tool_refuses_is_told_as_before(shop):
    """An account that does not exist is no outage."""
    replies, calls = served(shop, "find_customer_by_email", "Cancel W1001. x@example.com", times=0, outage=None)

    assert calls == ["find_customer_by_email"]
    assert "no account" in replies[0]


@pytest.mark.parametrize(("line", "said"), [("Weather now in Lyon?", "incomplete"), ("Météo à Lyon ?", "incomplète")])
@pytest.mark.parametrize("times", [1, 2])
def test_a_weather_answer_that_breaks_off_is_noticed(line, said, times):
    """It is asked for anew; where it breaks off again the user is told, and no figure."""
    answers, calls = Answers(Settings()), []

    def tool(name: str) -> Callable[..., Any]:
        def call(**arguments: Any) -> Any:
            calls.append(name)
            whole = getattr(answers, name)({key: str(value) for key, value in arguments.items()})
            if name == "search_places" or calls.count(name) > times:
                return whole
            return dict(list(whole.items())[:1])

        call.__name__ = name
        return call

    reply = build_weather([tool(name) for name in ("search_places", "forecast", "observation")])(line)

    assert (said in reply) is (times == 2)
    assert ("°C" in reply) is (times == 1)
