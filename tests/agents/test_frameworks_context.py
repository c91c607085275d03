"""A context is built into the type that an agent declares; real frameworks are tried in tests/real."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from pytest_agentbench.agents.frameworks.context import fitted, lacking
from pytest_agentbench.core.errors import SuiteFaultError
from tests.tables import each


class Model(BaseModel):
    """A pydantic model."""

    customer: str
    since: date | None = None


@dataclass
class Record:
    """A dataclass that holds a model."""

    customer: str
    since: date | None = None
    inner: Model | None = None


class Typed(TypedDict, total=False):
    """A TypedDict without required keys."""

    customer: str


@dataclass
class Defaults:
    """A dataclass that needs nothing."""

    seats: int = 3


class Plain:
    """A class with a constructor of its own."""

    def __init__(self, customer: str, *, tier: int = 1) -> None:
        self.told = (customer, tier)


DAY = {"customer": "Ada", "since": "2024-02-01"}


@each(
    ("context", "wanted", "built"),
    [
        (DAY, Model, Model(customer="Ada", since=date(2024, 2, 1))),
        (DAY, Record, Record("Ada", date(2024, 2, 1))),
        (DAY, Record | None, Record("Ada", date(2024, 2, 1))),
        ({"customer": "Ada", "inner": DAY}, Record, Record("Ada", inner=Model.model_validate(DAY))),
        ({"customer": "Ada"}, Typed, {"customer": "Ada"}),
        ({"customer": "Ada"}, dict, {"customer": "Ada"}),
        ({"customer": "Ada"}, dict[str, Any], {"customer": "Ada"}),
        ({"customer": "Ada"}, None, {"customer": "Ada"}),
        ({}, None, None),
        ({}, type(None), None),
        ({}, Record | None, None),
        ({}, Defaults, Defaults()),
    ],
)
def test_a_mapping_becomes_what_is_declared(context: dict[str, Any], wanted: Any, built: Any) -> None:
    """Also where a field is a date or a model of its own."""
    assert fitted(context, wanted, what="deps_type") == built


def test_an_object_is_given_as_it_is() -> None:
    """Whoever made it knows."""
    made = object()
    assert fitted(made, Record, what="deps_type") is made
    assert fitted({"customer": "Ada", "tier": 2}, Plain, what="deps_type").told == ("Ada", 2)


@each(
    ("context", "wanted", "said"),
    [
        ({}, Record, r"type Record is not given: it needs customer \(str\); add `context: \{customer: …\}`"),
        ({}, int, r"of type int, and the suite gives no context; add `context: \{make: my_context:make_context\}`"),
        ({"customer": "Ada"}, int, r"of type int, and a mapping cannot be built into it"),
        ({"custmer": "Ada"}, Record, r"context.custmer: .* has no 'custmer', but .*\(did you mean 'customer'\?\)"),
        (
            {"customer": "Ada", "since": "now"},
            Model,
            r"context.since: .*found str of 3 characters .*Model, whose since is .*date",
        ),
        ({"customer": "Ada", "inner": {}}, Record, r"context.inner.customer: .*Record, whose inner is"),
        ({"customer": 3}, Typed, r"context.customer: .*found int \("),
    ],
)
def test_what_does_not_fit_names_key_and_type(context: dict[str, Any], wanted: Any, said: str) -> None:
    """It is the suite's to mend."""
    with pytest.raises(SuiteFaultError, match=said):
        fitted(context, wanted, what="deps_type")


def test_a_value_that_does_not_fit_is_not_shown() -> None:
    """It may be a secret, which nobody finds again once it is cut."""
    secret = "k" * 160
    for context in ({"customer": "Ada", "since": secret}, {"customer": "Ada", "inner": {"token": secret}}):
        with pytest.raises(SuiteFaultError) as caught:
            fitted(context, Record, what="deps_type")
        assert "kkkk" not in str(caught.value)


ORDERS = {"W1": {"total": 3}}


@dataclass
class RunContext:
    """What a framework gives to tools, by the name of its package."""

    context: Any


RunContext.__module__ = "agents.run_context"

Tool = Callable[[RunContext, str], object]


def raised_by(tool: Tool, context: Any) -> Exception:
    """Give what a tool raises that is called for a name that nobody has."""
    with pytest.raises((KeyError, AttributeError, TypeError)) as caught:
        tool(RunContext(context), "tier")
    return caught.value


def by_attribute(ctx: RunContext, name: str) -> object:
    """Read the context in place."""
    return f"Tier {ctx.context.tier}"


def by_item(ctx: RunContext, name: str) -> object:
    """Read the context over several lines."""
    return str(
        ctx.context[
            name
        ]
    )  # fmt: skip


def by_variable(ctx: RunContext, name: str) -> object:
    """Read the context by a name that is given to it once."""
    given = ctx.context
    return given["tier"] if isinstance(given, dict) else given.tier


def by_pattern(ctx: RunContext, name: str) -> object:
    """Read the context by a function that is given it."""
    return "Tier {tier}".format(**ctx.context)


def by_pop(ctx: RunContext, name: str) -> object:
    """Read the context by its own method."""
    return ctx.context.pop("tier")


def own_key(ctx: RunContext, name: str) -> object:
    """Look into what is the tool's own."""
    return ORDERS[name]


def own_none(ctx: RunContext, name: str) -> object:
    """Look into what was not found."""
    return ORDERS.get(name)["tier"]


def own_attribute(ctx: RunContext, name: str) -> object:
    """Ask what was not found."""
    return ORDERS.get(name).tier


def own_variable(ctx: RunContext, name: str) -> object:
    """Ask what was not found, under a name that was the context's before."""
    given: Any = ctx.context
    given = ORDERS.get(name)
    return given.tier


@each(
    ("tool", "context"),
    [
        (by_attribute, None),
        (by_item, None),
        (by_item, {"customer": "Ada"}),
        (by_variable, None),
        (by_variable, {"customer": "Ada"}),
        (by_pattern, {"customer": "Ada"}),
        (by_pop, {"customer": "Ada"}),
    ],
)
def test_what_an_agent_reads_of_its_context_is_named(tool: Tool, context: Any) -> None:
    """However it comes to it."""
    assert "add `context: {tier: …}`" in str(lacking(raised_by(tool, context), context))


@each("tool", [own_key, own_none, own_attribute, own_variable])
@each("context", [None, {"customer": "Ada"}])
def test_what_an_agent_reads_elsewhere_is_its_own(tool: Tool, context: Any) -> None:
    """Though the context, which has no such key either, is at hand."""
    assert lacking(raised_by(tool, context), context) is None


def test_a_configuration_at_hand_says_nothing_of_other_keys() -> None:
    """A node reads its own tables, and a state that has a thread."""

    def read(state: dict[str, Any], config: dict[str, Any], at: str) -> object:
        if at == "own":
            return ORDERS["W9"]
        return state["W9"] if at == "state" else config["configurable"]["W9"]

    heard = []
    for at in ("own", "state", "config"):
        with pytest.raises(KeyError) as caught:
            read({"thread_id": "t"}, {"configurable": {"thread_id": "t"}}, at)
        heard.append(lacking(caught.value, {}))

    assert [one is not None for one in heard] == [False, False, True]


def test_an_error_that_is_not_about_the_context_is_left_alone() -> None:
    """An agent's own slips with None and keys stay the agent's."""
    given = {"customer": "Ada"}
    slips = (lambda: given["tier"], lambda: {}["tier"], lambda: None.tier)
    heard = []
    for slip in slips:
        with pytest.raises((KeyError, AttributeError)) as caught:
            slip()
        heard.append(lacking(caught.value, given))

    assert [one is not None for one in heard] == [True, False, False]
