"""A small world of tickets as a suite, whose scenarios a test states."""

import json
from pathlib import Path
from typing import Any

from pytest_agentbench.validation.report import ScenarioReport, SuiteReport
from pytest_agentbench.validation.scenario import validate

TOOLS = '''
"""Tools of a ticket desk."""


def find_person(email: str, *, state: dict) -> str:
    """Find a person by email; gives the id."""
    for person_id, person in state["people"].items():
        if person["email"] == email:
            return person_id
    raise ValueError("nobody has this email")


def get_person(person_id: str, *, state: dict) -> dict:
    """Look up a person."""
    return {**state["people"][person_id], "person_id": person_id}


def close_ticket(ticket_id: str, note: str = "", *, state: dict) -> str:
    """Close an open ticket."""
    ticket = state["tickets"][ticket_id]
    if ticket["status"] != "open":
        raise ValueError("the ticket is not open")
    ticket["status"] = "closed"
    ticket["note"] = note
    return f"closed, receipt R-{ticket_id}-77"


def create_ticket(person_id: str, title: str, *, state: dict) -> str:
    """Open a new ticket for a person."""
    state["people"][person_id]
    ticket_id = f"T{len(state['tickets']) + 1}"
    state["tickets"][ticket_id] = {"ticket_id": ticket_id, "person_id": person_id, "title": title, "status": "open"}
    return f"opened {ticket_id}"
'''

STATE = {
    "people": {
        "P1": {"person_id": "P1", "email": "ada@example.org"},
        "P2": {"person_id": "P2", "email": "bob@example.org"},
    },
    "tickets": {
        "T1": {"ticket_id": "T1", "person_id": "P1", "title": "leak", "status": "open"},
        "T2": {"ticket_id": "T2", "person_id": "P1", "title": "noise", "status": "open"},
        "T3": {"ticket_id": "T3", "person_id": "P2", "title": "door", "status": "closed"},
    },
}

CLOSE = {"close_ticket": {"ticket_id": "T1"}}
CONFIRM = {"id": "confirm", "text": "Ask before a change.", "rule": {"confirm_before": {"calls": ["close_ticket"]}}}
IDENTIFY = {
    "id": "identify",
    "text": "Find the person first.",
    "rule": {"before": {"calls": ["close_ticket"], "first": ["find_person"]}},
}


def scenario(name: str = "close", **fields: Any) -> dict[str, Any]:
    """Give a scenario in which ticket T1 is to be closed, unless `fields` say otherwise."""
    return {"id": name, "says": ["Close ticket T1, please. I am ada@example.org."], "expect": [CLOSE], **fields}


def write_suite(folder: Path, *scenarios: dict[str, Any], **fields: Any) -> Path:
    """Write a suite of the world with these scenarios; give its file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tools.py").write_text(TOOLS)
    (folder / "state.json").write_text(json.dumps(STATE))
    suite = {
        "agent": "nowhere:build",
        "environment": {"tools": "tools", "state": {"json": "state.json"}},
        "scenarios": list(scenarios),
        **fields,
    }
    file = folder / "agentbench.yaml"
    file.write_text(json.dumps(suite))
    return file


def validated(folder: Path, *scenarios: dict[str, Any], **fields: Any) -> SuiteReport:
    """Validate a suite of the world."""
    return validate(write_suite(folder, *scenarios, **fields), environ={}, now=lambda: 0.0)


def one(folder: Path, stated: dict[str, Any], **fields: Any) -> ScenarioReport:
    """Validate one scenario in the world."""
    (report,) = validated(folder, stated, **fields).scenarios
    return report


def kinds(report: ScenarioReport) -> list[str]:
    """Give what the problems of a scenario are about."""
    return [issue.kind for issue in report.issues]
