"""Whatever is left open and in whatever order: an agent that makes the expected calls passes, one wrong write fails."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.verdict import Verdict
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.runs.plan import plans
from pytest_agentbench.runs.runner import Services, run_scenario
from pytest_agentbench.suites.suite_file import load_suite

TOOLS = '''
import random, time, uuid

MAKERS = {
    "uuid": lambda rows: f"R-{uuid.uuid4().hex[:8]}",
    "count": lambda rows: f"R-{len(rows) + 1}",
    "number": lambda rows: str(random.randint(1000, 9_999_999)),
}

def set_price(state: dict, item: str, price: int, note: str = "") -> str:
    """Set a price."""
    state["items"][item].update(price=price, note=note)
    return "done"

def reserve(state: dict, item: str, amount: int = 1) -> dict:
    """Reserve an item."""
    made = {"reservation_id": MAKERS[state["ids"]](state["reservations"]), "at": time.time()}
    state["reservations"][made["reservation_id"]] = {"item": item, "amount": amount, "open": True, **made}
    return made

def cancel(state: dict, reservation_id: str, reason: str = "") -> str:
    """Cancel a reservation."""
    state["reservations"][reservation_id].update(open=False, reason=reason)
    return f"cancelled {reservation_id}"

def look(state: dict) -> dict:
    """Look at all items."""
    return state["items"]
'''
AGENT = """
def build(tools, steps=()):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        made = {}
        for name, arguments, label in steps:
            given = {key: made[value[1:]] if str(value).startswith("=") else value for key, value in arguments.items()}
            found = call[name](**given)
            if label:
                made[label] = found["reservation_id"]
        return "Done."
    return reply
"""
ITEMS = ("lamp", "desk", "sofa", "rug")
Step = tuple[str, dict[str, Any], str]


@st.composite
def goals(draw: st.DrawFn) -> tuple[list[tuple[dict[str, Any], list[Step]]], str]:
    """Draw independent wishes, each with what is expected of it (parts left open) and the calls that do it."""
    wishes = []
    for place, item in enumerate(draw(st.lists(st.sampled_from(ITEMS), unique=True, min_size=1, max_size=4))):
        number = draw(st.integers(1, 99))
        named = {"item": item}
        kind = draw(st.sampled_from(["price", "reserve", "cancel"]))
        if kind == "price":
            calls: list[Step] = [("set_price", {**named, "price": number}, "")]
        else:
            calls = [("reserve", {**named, "amount": number}, f"r{place}")]
            if kind == "cancel":
                calls.append(("cancel", {"reservation_id": f"=r{place}", "reason": draw(st.sampled_from("ab"))}, ""))
        stated = {"item": item} if draw(st.booleans()) else {**calls[0][1]}
        expected = [{calls[0][0]: stated}, *[call[0] for call in calls[1:]]]
        wishes.append(({"expect": expected, "item": item}, calls))
    return wishes, draw(st.sampled_from(["uuid", "count", "number"]))


def judged(folder: Path, expect: list[Any], steps: list[Step], ids: str) -> tuple[Verdict, list[str]]:
    """Run an agent that makes these calls."""
    state = {"ids": ids, "items": {name: {"price": 5} for name in ITEMS}, "reservations": {}}
    suite = {
        "agent": "steps_agent:build",
        "environment": {
            "tools": "shop_tools",
            "state": {"json": "state.json"},
            "reads": ["look"],
            "writes": ["set_price", "reserve", "cancel"],
        },
        "variants": {"made": {"steps": steps}},
        "scenarios": [{"id": "a", "says": ["Go"], "expect": expect}],
    }
    for name, text in (
        ("agentbench.yaml", json.dumps(suite)),
        ("state.json", json.dumps(state)),
        ("shop_tools.py", TOOLS),
        ("steps_agent.py", AGENT),
    ):
        (folder / name).write_text(text)
    loaded = load_suite(folder / "agentbench.yaml", environ={})
    (plan,) = plans(loaded, "a", ("made",), load_toolset(loaded.environment, folder))
    found = asyncio.run(run_scenario(plan, Services(isolation=IsolationGate(folder / "locks"))))[1]
    return found.verdict, [one.message for one in found.findings if one.passed is not True]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for all suites, one after the other."""
    return tmp_path_factory.mktemp("worlds")


many = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@many
@given(goals(), st.randoms(use_true_random=False))
def test_right_agents_pass_in_any_order(folder: Path, drawn: Any, random: Any) -> None:
    """Wishes change places, and lookups stand between them."""
    wishes, ids = drawn
    expect = [call for wish, _ in wishes for call in wish["expect"]]
    shuffled = list(wishes)
    random.shuffle(shuffled)
    steps: list[Step] = []
    for _, calls in shuffled:
        steps += [("look", {}, "")] * random.randint(0, 1) + calls

    assert judged(folder, expect, steps, ids) == (Verdict.PASSED, [])


@many
@given(goals(), st.sampled_from(["stray", "twice", "item", "left out", "amount"]), st.data())
def test_one_wrong_write_fails(folder: Path, drawn: Any, fault: str, data: st.DataObject) -> None:
    """A stray write, one made twice, one about another item or of another stated amount, one that is left out."""
    wishes, ids = drawn
    expect = [call for wish, _ in wishes for call in wish["expect"]]
    at = data.draw(st.integers(0, len(wishes) - 1))
    wish, calls = wishes[at]
    name, arguments, label = calls[0]
    steps: list[Step] = [step for place, (_, made) in enumerate(wishes) if place != at for step in made]
    if fault == "stray":
        steps += [*calls, ("set_price", {"item": "rug", "price": 777}, "")]
    elif fault == "twice":
        steps += [*calls, ("reserve", {"item": wish["item"], "amount": 1}, "")]
    elif fault == "item":
        used = Counter(one["item"] for one, _ in wishes)
        other = next((item for item in ITEMS if not used[item]), None)
        if other is None:
            return
        steps += [(name, {**arguments, "item": other}, label), *calls[1:]]
    elif fault == "amount":
        key = "price" if name == "set_price" else "amount"
        if key not in wish["expect"][0][name]:
            return
        steps += [(name, {**arguments, key: arguments[key] + 1}, label), *calls[1:]]
    else:
        steps += calls[1:] if not label else []

    assert judged(folder, expect, steps, ids)[0] is Verdict.FAILED
