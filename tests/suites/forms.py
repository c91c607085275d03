"""Valid files from which the tests start."""

from pathlib import Path
from typing import Any

TASK: dict[str, Any] = {
    "id": "task 1",
    "description": {"purpose": "p", "relevant_policies": None, "notes": None},
    "user_scenario": {
        "persona": None,
        "instructions": {
            "domain": "shop",
            "reason_for_call": "refund",
            "known_info": "You are Ann.",
            "unknown_info": None,
            "task_instructions": "",
        },
    },
    "initial_state": {"initialization_data": {"agent_data": {"orders": {}}}, "message_history": None},
    "evaluation_criteria": {
        "actions": [{"action_id": "1_0", "name": "refund", "arguments": {"order_id": "W1"}, "info": None}],
        "communicate_info": [],
        "nl_assertions": None,
        "reward_basis": ["DB"],
    },
    "annotations": None,
    "agentbench": {"policies": ["late"], "knows": {"order id": "W1"}, "complexity": 3},
}

SCENARIO: dict[str, Any] = {
    "id": "refund-late",
    "title": "A late refund",
    "persona": "impatient",
    "goal": "a refund of order W1",
    "says": ["Refund order W1, please", "yes"],
    "knows": {"order id": "W1"},
    "unknown": ["the date of the order"],
    "instructions": "Be brief.",
    "expect": [{"refund": {"order_id": "W1", "amount": {"$approx": 3.5, "tol": 0.01}}}, {"name": "close"}, "list"],
    "communicate": ["3.50"],
    "never": ["delete", {"refund": {"order_id": {"$regex": "W[2-9]"}}}],
    "match": {"order": "in_order", "expected_calls": "all"},
    "policies": ["late"],
    "complexity": 4,
    "checks": ["my_checks:polite"],
    "context": {"user_id": "u1"},
    "state": {"orders": {"W1": {"status": "paid"}}},
    "limits": {"turns": 10, "tool_calls": 0, "seconds": 1.5},
    "tags": ["smoke"],
    "skip": "not today",
    "xfail": "known",
    "provenance": {"by": "hand"},
}

SUITE: dict[str, Any] = {
    "name": "support",
    "agent": {"factory": "my_agent:build", "serial": True},
    "variants": {"careful": {}, "hasty": {"confirm": False}},
    "environment": {
        "tools": "my_tools",
        "user_tools": {"schema": "tools.json"},
        "state": {"sqlite": {"schema": "schema.sql", "rows": "rows.yaml"}, "ignore": ["orders.*.updated_at"]},
        "reads": ["list"],
        "writes": ["refund"],
    },
    "user": "scripted",
    "policies": [
        {"id": "late", "text": "No refund after 30 days.", "challenge": 3, "category": "refunds"},
        {"id": "ask", "text": "Ask first.", "rule": {"confirm_before": {"calls": "writes"}}},
        {"id": "look", "text": "Look first.", "rule": {"before": {"calls": ["refund"], "first": ["list"]}}},
        {"id": "once", "text": "Once.", "rule": {"at_most": {"calls": ["refund"], "times": 1}}},
        {"id": "not", "text": "Never.", "rule": {"never": {"calls": ["delete"], "where": {"id": {"$any": True}}}}},
    ],
    "scenarios": [SCENARIO, {"id": "hello", "says": ["Hello"]}, "more/*.yaml", "tasks.json"],
    "limits": {"turns": 20, "tool_calls": 30, "seconds": 60},
    "gates": ["success >= 0.80", "policy.late >= 0.9", "crashed <= 0", "complexity.4 > 0.5", "tag.smoke > 0.9"],
    "trials": 2,
    "context": {"session": "s"},
}


def lay_out(root: Path) -> None:
    """Write the files that `SUITE` names."""
    import json

    (root / "more").mkdir(exist_ok=True)
    (root / "more" / "one.yaml").write_text("id: from-a-file\nsays: [Hi]\n")
    (root / "tasks.json").write_text(json.dumps([TASK]))
    (root / "tools.json").write_text("[]")
    (root / "schema.sql").write_text("CREATE TABLE orders (id TEXT PRIMARY KEY);")
    (root / "rows.yaml").write_text("orders: []\n")
