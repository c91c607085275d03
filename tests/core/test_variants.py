"""Variants of agents that are no code."""

from typing import Any

import pytest

from pytest_agentbench.core.errors import SuiteFaultError
from pytest_agentbench.core.model import ModelSpec, Price
from pytest_agentbench.core.suite import HttpAgentSpec, OpenAIAgentSpec
from pytest_agentbench.core.variants import vary_chat, vary_http
from tests.tables import each

PRICE = Price(input=1.0, output=2.0)
CHAT = OpenAIAgentSpec(model=ModelSpec(model="big", price=PRICE, headers={"X-Team": "a"}), system="Be kind.")
HTTP = HttpAgentSpec(url="http://one/chat", headers={"Authorization": "Bearer t"}, reply="text")


def test_keywords_go_to_the_agent_and_to_its_model() -> None:
    """What a variant does not set stays as the suite says; mappings are merged key by key."""
    varied = vary_chat(CHAT, {"temperature": 1.0, "system": "Be brief.", "rounds": 3, "headers": {"X-Run": "b"}})

    assert (varied.system, varied.rounds, varied.model.temperature) == ("Be brief.", 3, 1.0)
    assert varied.model.headers == {"X-Team": "a", "X-Run": "b"}
    assert (varied.model.model, varied.model.price) == ("big", PRICE)
    assert vary_chat(CHAT, {}) == CHAT
    assert varied.model.model_fields_set == {"model", "price", "headers", "temperature"}


def test_a_price_goes_with_its_model() -> None:
    """Another model never costs what the first one does; a price of its own is kept."""
    assert vary_chat(CHAT, {"model": "small"}).model.price is None
    assert vary_chat(CHAT, {"model": "big"}).model.price == PRICE
    own = vary_chat(CHAT, {"model": "small", "price": {"input": 0.1, "output": 0.2}})
    assert own.model.price == Price(input=0.1, output=0.2)


def test_an_endpoint_varies_alike() -> None:
    """Address, headers and body are replaced or merged."""
    varied = vary_http(HTTP, {"url": "http://two/chat", "headers": {"X-Beta": "1"}, "body": {"beta": True}})

    assert varied.url == "http://two/chat"
    assert varied.headers == {"Authorization": "Bearer t", "X-Beta": "1"}
    assert varied.body == {**HTTP.body, "beta": True}
    assert varied.reply == "text"


@each(
    ("keywords", "says"),
    [
        ({"temprature": 1}, r"sets 'temprature', but a chat model has only model, .*\(did you mean 'temperature'\?\)"),
        ({"temperature": "hot"}, "does not fit its agent: temperature: found 'hot', expected a number from 0 to 2"),
        ({"price": {"input": 1}}, "price: the key 'output' is missing"),
    ],
)
def test_what_does_not_fit_is_the_suites_fault(keywords: dict[str, Any], says: str) -> None:
    """The message names the keyword, what is allowed and what was found."""
    with pytest.raises(SuiteFaultError, match=says):
        vary_chat(CHAT, keywords)


def test_an_endpoint_has_no_temperature() -> None:
    """Keywords of a model are none of an endpoint's."""
    with pytest.raises(
        SuiteFaultError, match="sets 'temperature', but an agent behind HTTP has only url, app, factory,"
    ):
        vary_http(HTTP, {"temperature": 1})
