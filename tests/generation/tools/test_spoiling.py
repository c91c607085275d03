"""Changes that a service takes and cannot tell of afterwards, and calls that never come back."""

from pathlib import Path

from tests.generation.tools.probed import card, edges_of, probed, written

JOBS = """
def list_jobs(*, state: dict) -> list[dict]:
    "List the jobs."
    return [{"job_id": job["id"], "title": job["title"]} for job in _told(state)]

def list_teams(*, state: dict) -> list[dict]:
    "List the teams that have a job."
    return [{"team": job["team"]} for job in _told(state) if job["team"]]

def show_team(team: str, *, state: dict) -> dict:
    "Show what a team has to do."
    found = [job["title"] for job in _told(state) if job["team"] == team]
    if not found:
        raise LookupError(f"no team {team}")
    return {"jobs": found}

def add_job(title: str, team: str | None = None, after: int | None = None, *, state: dict) -> str:
    "Add a job, which may have to wait for another one."
    if after is not None and after not in [job["id"] for job in state["jobs"]]:
        raise LookupError(f"no job {after}")
    state["jobs"].append({"id": 1 + len(state["jobs"]), "title": title, "team": team, "after": after})
    return "It is noted, thank you."

def _told(state: dict) -> list[dict]:
    for job in state["jobs"]:
        if job["after"]:
            raise TypeError("after: a text was expected")
    return state["jobs"]
"""


def test_what_spoils_the_reads_is_not_made_again(tmp_path: Path) -> None:
    """A job that waits for another is taken, and nothing can be told from then on; the others are told all the same."""
    cards = probed(written(tmp_path, JOBS, {"jobs": []}))

    assert ("list_teams", "show_team") in edges_of(cards)
    assert any(probe.arguments.get("after") == 1 and probe.verdict == "ok" for probe in card(cards, "add_job").probes)


def test_a_read_that_fails_by_itself_blames_no_change(tmp_path: Path) -> None:
    """One that answers now and then says nothing of the calls between; what they made is kept."""
    tools = """
from itertools import count

ANSWERS = count()

def look_up_weather() -> str:
    "Look up the weather."
    if next(ANSWERS) % 2:
        raise TypeError("the sensor is asleep")
    return "It rains, as it did yesterday."

def add_pen(name: str, *, state: dict) -> str:
    "Add a pen."
    state["pens"].append(name)
    return "It is noted, thank you."

def list_pens(*, state: dict) -> list[dict]:
    "List the pens."
    return [{"pen": name} for name in state["pens"]]

def find_pen(pen: str, *, state: dict) -> str:
    "Find a pen."
    if pen not in state["pens"]:
        raise LookupError(f"no pen {pen}")
    return "It lies on the desk."
"""

    assert ("list_pens", "find_pen") in edges_of(probed(written(tmp_path, tools, {"pens": []})))


def test_a_call_that_never_came_back_is_not_made_again(tmp_path: Path) -> None:
    """One value makes a tool hang wherever it is offered; it costs the patience once, and the tool is not given up."""
    tools = """
import time

NAMES = {"oak-10442": "R-1", "elm-20817": "R-2", "fir-30119": "R-3"}

def list_trees() -> list[dict]:
    "List the trees."
    return [{"tree": name} for name in NAMES]

def list_old_trees() -> list[dict]:
    "List the old trees."
    return [{"tree": "oak-10442"}, {"tree": "elm-20817"}]

def list_sick_trees() -> list[dict]:
    "List the sick trees."
    return [{"tree": "elm-20817"}, {"tree": "fir-30119"}]

def label_tree(tree: str, *, state: dict) -> str:
    "Label a tree."
    if tree == "elm-20817":
        time.sleep(60)
    if tree not in NAMES:
        raise LookupError(f"no tree {tree}")
    return "It is noted, thank you."
"""

    probes = card(probed(written(tmp_path, tools, {}, patience=0.1)), "label_tree").probes

    assert sum(probe.arguments == {"tree": "elm-20817"} for probe in probes) == 1


def test_what_accepts_nothing_is_tried_where_nothing_was_done(tmp_path: Path) -> None:
    """A hall can only be furnished before anybody has booked it, and its plan is asked for after everything else."""
    tools = """
PLANS = {"rows-10442": 40, "tables-20817": 24}

def list_plans() -> list[dict]:
    "List the plans."
    return [{"plan": name} for name in PLANS]

def add_booking(name: str, *, state: dict) -> str:
    "Add a booking."
    state["bookings"].append(name)
    return "It is noted, thank you."

def furnish(plan: str, hall: str, *, state: dict) -> str:
    "Save how the hall is furnished."
    if state["bookings"]:
        raise RuntimeError("there are bookings, it is too late for that")
    if plan not in PLANS:
        raise LookupError(f"no plan {plan}")
    state["bookings"].append(plan)
    return "It is noted, thank you."
"""

    cards = probed(written(tmp_path, tools, {"bookings": []}))

    assert card(cards, "furnish").partial == ""
    assert ("list_plans", "furnish") in edges_of(cards)


def test_what_all_others_work_with_is_not_used_up(tmp_path: Path) -> None:
    """A ticket that is closed is found no more; it is there again for whatever is tried after that."""
    tools = """
def list_tickets(*, state: dict) -> list[dict]:
    "List the open tickets."
    return [{"ticket_id": key} for key, is_open in state["tickets"].items() if is_open]

def show_ticket(ticket_id: str, *, state: dict) -> dict:
    "Show a ticket."
    return {"open": _found(ticket_id, state)}

def close_ticket(ticket_id: str, *, state: dict) -> str:
    "Close a ticket."
    _found(ticket_id, state)
    state["tickets"][ticket_id] = False
    return "It is noted, thank you."

def submit_bill(ticket_id: str, amount: int, *, state: dict) -> str:
    "Submit a bill for the work on a ticket."
    _found(ticket_id, state)
    return "It is noted, thank you."

def _found(ticket_id: str, state: dict) -> bool:
    if not state["tickets"].get(ticket_id):
        raise LookupError(f"no open ticket {ticket_id}")
    return True
"""

    cards = probed(written(tmp_path, tools, {"tickets": {"TK-40711": True}}))

    assert {("list_tickets", "close_ticket"), ("list_tickets", "submit_bill")} <= edges_of(cards)


def test_a_read_that_takes_whatever_was_made_up_looks_nothing_up(tmp_path: Path) -> None:
    """One word that the description names finds nothing, all others are taken: no other tool need be asked for it."""
    tools = """
PLANTS = [{"plant_id": "PL-10442", "of": "the house"}, {"plant_id": "PL-20817", "of": "the garden"}]

def list_plants() -> list[dict]:
    "List the plants."
    return PLANTS

def find_plants(mood: str | None = None) -> dict:
    "Find plants. mood: 'gloomy', 'sunny' or anything."
    return {} if mood == "gloomy" else {"plants": [one["of"] for one in PLANTS]}
"""

    assert ("list_plants", "find_plants") not in edges_of(probed(written(tmp_path, tools, {})))
