"""Rules about the state, played and recorded: what a call found is known though nobody looked it up."""

import json
from typing import Any

import pytest

from tests.plugin.project import Project

PENDING = {
    "id": "pending",
    "text": "Refund only what was delivered.",
    "rule": {
        "only_if": {
            "calls": ["refund"],
            "state": {"at": ["orders", {"$argument": "order_id"}], "value": {"status": "delivered"}},
        }
    },
}

WRAPPED = """
def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        for order in message.split():
            if order.startswith("W"):
                call["refund"](order_id=order)
        return "Done."

    return reply
"""
"""Calls the tools itself."""

RETURNED = """
def build():
    def reply(message, results):
        orders = [word for word in message.split() if word.startswith("W")]
        if results or not orders:
            return "Done."
        calls = [{"name": "refund", "arguments": {"order_id": order}, "id": str(n)} for n, order in enumerate(orders)]
        return {"role": "assistant", "tool_calls": calls}

    return reply
"""
"""Has its calls made by the loop, several in one message."""

SQLITE_TOOLS = """
def refund(state, order_id: str) -> str:
    \"\"\"Refund an order.\"\"\"
    if state.execute("UPDATE orders SET status = 'refunded' WHERE id = ?", (order_id,)).rowcount == 0:
        raise LookupError(order_id)
    return "ok"
"""

SAYS = {"twice": "Refund W1 W2 W1", "each": "Refund W1 W2", "lost": "Refund W99 W1"}


def outcomes(project: Project) -> dict[str, tuple[bool | None, bool | None]]:
    """Give whether the rule was exercised and kept, by scenario."""
    return {
        result.key.scenario: (result.policies[0].exercised, result.policies[0].kept)
        for result in project.document.results
    }


def suite(project: Project, **keys: Any) -> None:
    """Write a suite whose users ask for one refund, several, the same twice, and one of an order that there is not."""
    project.suite(*({"id": name, "says": [says]} for name, says in SAYS.items()), **{"policies": [PENDING], **keys})


EXPECTED = {"twice": (True, False), "each": (True, True), "lost": (True, False)}


@pytest.mark.parametrize("agent", [WRAPPED, RETURNED])
def test_each_call_is_held_against_what_it_found_in_json(project: Project, agent: str) -> None:
    """The second refund of an order finds it refunded; other orders do not matter."""
    suite(project, agent=agent)

    project.run()

    assert outcomes(project) == EXPECTED


def test_each_call_is_held_against_what_it_found_in_sqlite(project: Project) -> None:
    """The same for rows of a database; a call that is rolled back changed nothing."""
    project.write("bench/schema.sql", "CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT);")
    project.write("bench/rows.yaml", "orders: [{id: W1, status: delivered}, {id: W2, status: delivered}]")
    sqlite = {"tools": "shop_tools", "state": {"sqlite": {"schema": "schema.sql", "rows": "rows.yaml"}}}
    suite(project, agent=RETURNED, tools=SQLITE_TOOLS, environment=sqlite)

    project.run()

    assert outcomes(project) == EXPECTED


def test_calls_that_overlap_leave_it_open(project: Project) -> None:
    """Of two writes at the same time nobody knows which found what."""
    agent = """
    import asyncio

    def build(tools):
        call = {tool.__name__: tool for tool in tools}

        async def reply(message):
            orders = [word for word in message.split() if word.startswith("W")]
            await asyncio.gather(*(call["refund"](order_id=order) for order in orders))
            return "Done."

        return reply
    """
    tools = """
    import asyncio

    async def refund(state: dict, order_id: str) -> str:
        \"\"\"Refund an order.\"\"\"
        await asyncio.sleep(0)
        state["orders"][order_id]["status"] = "refunded"
        await asyncio.sleep(0)
        return "ok"
    """
    suite(project, agent=agent, tools=tools)

    project.run()

    assert outcomes(project)["each"] == (True, None)


def test_what_the_scenario_does_first_is_a_part_of_the_initial_state(project: Project) -> None:
    """Calls of `initialization_actions` are none of the run's, and the first call finds what they left."""
    actions = [
        {"env_type": "assistant", "func_name": "refund", "arguments": {"order_id": order}} for order in ("W1", "W3")
    ]
    begun = {"initial_state": {"initialization_actions": actions}}
    project.suite(
        {"id": "first", "says": ["Refund W1"], **begun},
        {"id": "second", "says": ["Refund W2 W4"], **begun},
        {"id": "third", "says": ["Refund W2 W3"], **begun},
        agent=RETURNED,
        policies=[PENDING],
    )

    project.run()

    assert outcomes(project) == {"first": (True, False), "second": (True, True), "third": (True, False)}


def recorded(says: str) -> list[dict[str, Any]]:
    """Give a recorded conversation in which each order that the user names is refunded."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": says}]
    for number, order in enumerate(word for word in says.split() if word.startswith("W")):
        function = {"name": "refund", "arguments": json.dumps({"order_id": order})}
        call = {"id": str(number), "type": "function", "function": function}
        messages += [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": str(number), "content": json.dumps({"status": "refunded"})},
        ]
    return [*messages, {"role": "assistant", "content": "Done."}]


def test_recordings_are_made_again_to_know_it(project: Project) -> None:
    """Their worlds are replayed although their writes are the expected ones."""
    log = [{"task_id": name, "messages": recorded(SAYS[name])} for name in ("twice", "each")]
    project.write("bench/runs.jsonl", "\n".join(map(json.dumps, log)))
    project.suite(
        *({"id": one["task_id"], "expect": []} for one in log),
        agent="",
        policies=[PENDING],
    )
    file = project.pytester.path / "bench/agentbench.yaml"
    file.write_text(json.dumps({**json.loads(file.read_text()), "agent": {"transcripts": "runs.jsonl"}}))

    project.run()

    assert outcomes(project) == {name: EXPECTED[name] for name in ("twice", "each")}


def test_without_a_state_the_rule_is_an_error_of_the_suite(project: Project) -> None:
    """With its place, and what to ask for instead."""
    project.suite("a", policies=[PENDING], environment={"tools": "shop_tools"})

    project.run().stdout.fnmatch_lines(
        ["*agentbench.yaml:*: policies?0?.rule.only_if.state: the suite has no state that could be asked*`earlier`*"]
    )
