"""Mistakes that people make in their first suite: each is told where it stands, with what to write."""

import json

from tests.plugin.project import Project
from tests.tables import each

AGENT = """
def build(tools=()):
    return lambda message: "Hello."

def nothing():
    pass

def text():
    return "Hello."

def silent(message):
    pass
"""

TOOLS = {
    "shop_calls": 'def cancel(order_id: str) -> str:\n    return "ok"\n',
    "shop_db": 'import sqlite3\n\ndef refund(db: sqlite3.Connection) -> str:\n    return "ok"\n',
}

A = {"id": "a", "says": ["Hi"]}

MISTAKES: dict[str, tuple[dict[str, object], str]] = {
    "a text for a list": (
        {"scenarios": [{**A, "says": "Hi there"}]},
        "says: found 'Hi there', expected a list of what * (a list is written in brackets, with commas: [[]one, two])",
    ),
    "one item for a list": (
        {"scenarios": A},
        "found a mapping with 'id', 'says', expected a list * (put `- ` before it: it is one item of a list)",
    ),
    "a key a level too high": ({"tools": "shop"}, "tools: unknown key * (write it under `environment`)"),
    "a line beside its scenario": ({"says": ["Hi"]}, "says: unknown key * (write it in one of the `scenarios`)"),
    "a file for a module": (
        {"agent": "./desk/shop.py:build"},
        "agent: found './desk/shop.py:build', expected an import path such as * (write desk.shop:build)",
    ),
    "a dot for a colon": (
        {"agent": "shop.build"},
        "agent: found 'shop.build', * (write shop:build, or shop.build:NAME where that is a module)",
    ),
    "a file in a folder above": (
        {"agent": "../shop.py:build"},
        "agent: found '../shop.py:build', * (write shop:build, with `pythonpath` in pytest's ini file *)",
    ),
    "a port of nobody": (
        {"agent": {"http": {"url": "http://127.0.0.1:{port}/chat"}}},
        "url: '{port}' is where `serve` listens, and the suite starts nothing (add `serve: *`, or write the port)",
    ),
    "a connection of its own": (
        {"environment": {"tools": "shop_db"}},
        "tool 'refund': its types cannot be validated: * <class 'sqlite3.Connection'> (a tool gets * as `state`, *)",
    ),
    "a call as code writes it": (
        {"environment": {"tools": "shop_calls"}, "scenarios": [{**A, "expect": ["cancel(order_id=W1)"]}]},
        "the agent has no tool 'cancel(order_id=W1)'; it has cancel (write {cancel: {argument: value}})",
    ),
}


@each("mistake", MISTAKES)
def test_a_mistake_in_a_first_suite_is_told_with_what_to_write(project: Project, mistake: str) -> None:
    """It is an error of collection."""
    keys, says = MISTAKES[mistake]
    project.write("bench/shop.py", AGENT)
    for name, code in TOOLS.items():
        project.write(f"bench/{name}.py", code)
    project.write("bench/agentbench.yaml", json.dumps({"agent": "shop:build", "scenarios": [A], **keys}))

    result = project.run("bench")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*/bench/agentbench.yaml:1:*: *{says}"])


def test_what_gives_nothing_is_asked_whether_it_returns(project: Project) -> None:
    """A factory without a `return`, one that gives a text, and an agent that answers nothing."""
    project.write("bench/shop.py", AGENT)
    agents = {"factory": "shop:nothing", "text": "shop:text", "reply": {"callable": "shop:silent"}}
    for name, agent in agents.items():
        project.write(f"bench/{name}.agentbench.yaml", json.dumps({"agent": agent, "scenarios": [A]}))

    said = " ".join(project.run("bench").stdout.str().split())

    assert "the factory 'shop:nothing' gave None (does it return the agent that it builds?)" in said
    assert "the factory 'shop:text': str 'Hello.' is no agent; an agent is an object with a method `reply`" in said
    assert "unusable reply: the agent gave None (does it return what it says?); a reply is text;" in said
