"""Scenarios of one deed each, and of rules, at a desk whose kayaks are there for everybody."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from pytest_agentbench.cli import main

TOOLS = '''
def find_guest(state: dict, email: str) -> dict:
    """Find a guest by e-mail address.

    Args:
        email: E-mail address of the guest
    """
    for guest_id, guest in state["guests"].items():
        if guest["email"] == email:
            return {"guest_id": guest_id, **guest}
    raise LookupError(f"no guest with e-mail {email}")


def list_kayaks(state: dict, pier: str) -> list[dict]:
    """List the free kayaks at a pier.

    Args:
        pier: Name of the pier
    """
    every = [{"kayak_id": name, **one} for name, one in state["kayaks"].items()]
    return [one for one in every if one["pier"] == pier and one["free"]]


def book_kayak(state: dict, guest_id: str, kayak_id: str, hours: int = 2) -> dict:
    """Book a kayak for a guest.

    Args:
        guest_id: Number of the guest
        kayak_id: Number of the kayak
        hours: For how many hours, 1 to 8
    """
    kayak = state["kayaks"][kayak_id]
    if not kayak["free"]:
        raise ValueError(f"kayak {kayak_id} is out")
    kayak["free"] = False
    number = f"BK{len(state['bookings']) + 1:03}"
    state["bookings"][number] = {"guest_id": guest_id, "kayak_id": kayak_id, "hours": hours, "status": "open"}
    return {"booking_id": number, "price": 11 * hours}


def list_bookings(state: dict, guest_id: str) -> list[dict]:
    """List the bookings of a guest.

    Args:
        guest_id: Number of the guest
    """
    return [{"booking_id": name, **one} for name, one in state["bookings"].items() if one["guest_id"] == guest_id]


def cancel_booking(state: dict, booking_id: str) -> dict:
    """Cancel an open booking.

    Args:
        booking_id: Number of the booking
    """
    booking = state["bookings"][booking_id]
    if booking["status"] != "open":
        raise ValueError(f"booking {booking_id} is {booking['status']}")
    booking["status"] = "cancelled"
    state["kayaks"][booking["kayak_id"]]["free"] = True
    return {"booking_id": booking_id, "status": "cancelled"}
'''
STATE = {
    "guests": {
        "G1": {"name": "Ira Vale", "email": "ira@example.com"},
        "G2": {"name": "Moe Finch", "email": "moe@example.com"},
        "G3": {"name": "Una Stark", "email": "una@example.com"},
    },
    "kayaks": {
        "K10": {"pier": "North", "kind": "single", "free": True},
        "K11": {"pier": "North", "kind": "double", "free": True},
        "K12": {"pier": "South", "kind": "single", "free": False},
        "K13": {"pier": "South", "kind": "sea", "free": True},
    },
    "bookings": {"BK001": {"guest_id": "G2", "kayak_id": "K12", "hours": 3, "status": "open"}},
}
ASK = "{id: ask-first, text: Ask first., challenge: 2, rule: {confirm_before: {calls: CALLS}}}"
HOURS = (
    "{id: max-eight, text: At most eight hours., challenge: 1,"
    " rule: {never: {calls: [book_kayak], where: {hours: {$gt: 8}}}}}"
)


def desk(folder: Path, recipe: str, *policies: str, free: bool = True) -> Path:
    """Write the suite of the desk; without `free` ones all kayaks are out."""
    (folder / "kayak_tools.py").write_text(TOOLS, encoding="utf-8")
    state = json.dumps(STATE)
    (folder / "state.json").write_text(state if free else state.replace('"free": true', '"free": false'))
    path = folder / "agentbench.yaml"
    path.write_text(
        "agent: kayak_agent:build\nenvironment: {tools: kayak_tools, state: {json: state.json}}\n"
        f"policies: [{', '.join(policies)}]\nscenarios: [generated/scenarios/*.yaml]\ngenerate: {{{recipe}}}\n",
        encoding="utf-8",
    )
    return path


def forms_in(folder: Path) -> list[dict]:
    """Give the scenarios that were written."""
    return [yaml.safe_load(file.read_text()) for file in sorted(folder.glob("generated/scenarios/*.yaml"))]


def test_each_scenario_is_one_deed_that_a_person_would_ask_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is found by a short name, undoes nothing, and its suite holds against its own `validate`."""
    path = desk(tmp_path, "from: tools, count: 8, seed: 7", ASK.replace("CALLS", "[book_kayak, cancel_booking]"))

    assert main(["generate", str(path)]) == 0
    capsys.readouterr()
    status = main(["validate", str(path)])

    assert status == 0, capsys.readouterr().out
    assert "mutation score 1.000" in capsys.readouterr().out
    forms = forms_in(tmp_path)
    assert len(forms) == 8
    for form in forms:
        assert re.fullmatch(r"[a-z]+-[a-z]+-d\d\d", form["id"])
        names = [call["name"] for call in form["expect"]]
        assert len({"book_kayak", "cancel_booking"} & set(names)) <= 1
        assert len(names) == len(set(names)) <= 3
    said = [form["says"][0]["request"] for form in forms]
    assert "Please cancel booking. Email: moe@example.com." in said  # the lookups are the agent's affair
    assert {form["provenance"]["owner"]["table"] for form in forms if "owner" in form["provenance"]} == {"guests"}
    assert len({form["provenance"]["owner"]["key"] for form in forms if "owner" in form["provenance"]}) == 3
    for form in forms:
        assert "answer" not in form["says"][0]["request"]  # nobody points at an answer before there is one
        owner = form["provenance"].get("owner")
        assert owner is None or owner["key"] in form["knows"].values()  # who it is, when it is asked
    assert not [form["id"] for form in forms if form.get("match") and len(form["expect"]) != len(form["says"])]
    (refused,) = [form for form in forms if "failure" in form["tags"]]
    asked = [line["request"] for line in refused["says"] if "request" in line]
    assert "K12" in asked[0]
    assert "K12" not in str(refused["expect"])
    assert [call["name"] for call in refused["expect"]][-1] == "book_kayak"


def test_an_agent_that_ignores_a_no_or_a_limit_would_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A user says no when asked, and one asks for a second booking and says yes; each decides its rule."""
    once = "{id: one-booking, text: One a day., challenge: 1, rule: {at_most: {calls: [book_kayak], times: 1}}}"
    path = desk(tmp_path, "from: tools, count: 10, seed: 7", ASK.replace("CALLS", "[book_kayak]"), once)

    assert main(["generate", str(path)]) == 0, capsys.readouterr().out
    assert main(["validate", str(path)]) == 0, capsys.readouterr().out

    decided = {
        policy: form
        for form in forms_in(tmp_path)
        for policy, how in form["provenance"].get("decided_by", {}).items()
        if how.startswith("decided")
    }
    assert set(decided) == {"ask-first", "one-booking"}
    declined, beyond = decided["ask-first"], decided["one-booking"]
    assert "decline" in declined["says"][-1]
    assert declined["communicate"]
    assert [call["name"] for call in beyond["expect"]].count("book_kayak") == 1
    assert beyond["says"][-1]["about"] == list(beyond["never"][0]["arguments"].values())


def test_a_value_is_looked_up_with_what_is_said_for_it_and_optional_ones_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """*Pier: South* is said for a kayak there, and for none that the guest, who has one booking, booked before."""
    path = desk(tmp_path, "from: tools, count: 16, seed: 7", ASK.replace("CALLS", "[book_kayak]"))
    booked = {f"BK00{at}": {**STATE["bookings"]["BK001"], "guest_id": f"G{at}"} for at in (1, 2, 3)}
    (tmp_path / "state.json").write_text(json.dumps({**STATE, "bookings": booked}), encoding="utf-8")
    functions = TOOLS.strip().split("\n\n\n")
    functions.insert(1, functions.pop(3))  # the bookings stand before the kayaks
    (tmp_path / "kayak_tools.py").write_text("\n\n\n".join(functions), encoding="utf-8")

    assert main(["generate", str(path)]) == 0, capsys.readouterr().out

    said = [form["says"][0]["request"] for form in forms_in(tmp_path)]
    assert any("Please book kayak. Guest id: " in one and "Pier: South." in one for one in said)
    assert any("Hours: 3" in one for one in said)
    assert json.loads((tmp_path / "generated" / "report.json").read_text(encoding="utf-8"))["lost"] == []


def test_a_policy_reaches_what_is_there_for_everybody_and_optional_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No kayak belongs to the guest who books it, and no call needs its hours."""
    path = desk(tmp_path, "from: policies, count: 6, seed: 7", ASK.replace("CALLS", "[book_kayak]"), HOURS)

    assert main(["generate", str(path)]) == 0, capsys.readouterr().out

    decided = [form["provenance"]["decided_by"] for form in forms_in(tmp_path)]
    assert {policy for one in decided for policy, how in one.items() if how.startswith("decided")} == {
        "ask-first",
        "max-eight",
    }


def test_a_policy_in_no_set_says_what_stands_in_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = desk(tmp_path, "from: policies, count: 2, seed: 7", ASK.replace("CALLS", "[book_kayak]"), free=False)

    assert main(["generate", str(path)]) == 1

    told = " ".join(capsys.readouterr().out.split())
    assert "book_kayak refuses each call that was tried (Error: kayak K1" in told
    assert "add rows that it accepts to the state" in told


def test_a_lookup_that_a_rule_wants_is_of_what_is_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A request that names one thing to look at and another to change leaves open which one is meant."""
    club = Path(__file__).parents[3] / "benchmarks" / "seeded" / "wines"
    shutil.copytree(club, tmp_path, dirs_exist_ok=True)
    suite = tmp_path / "wines.agentbench.yaml"
    suite.write_text(suite.read_text(encoding="utf-8").replace("count: 50", "count: 14"), encoding="utf-8")

    assert main(["generate", str(suite)]) == 0, capsys.readouterr().out

    forms = forms_in(tmp_path)
    looked = [form for form in forms if "get_case" in [call["name"] for call in form["expect"]]]
    assert len(looked) >= 5
    for form in looked:
        assert not [line for line in form["says"] if line.get("request", "").count("Case id:") > 1], form["says"]
        cases = [call["arguments"]["case_id"] for call in form["expect"] if "case_id" in call["arguments"]]
        assert len(set(cases)) == 1 or "failure" in form["tags"], form["says"]
    lost = json.loads((tmp_path / "generated" / "report.json").read_text(encoding="utf-8"))["lost"]
    assert lost == []
    assert {name for form in forms for name in (call["name"] for call in form["expect"])} >= {"refund_case", "get_case"}


LOCKERS = '''
def find_member(state: dict, email: str) -> dict:
    """Find a member by e-mail address."""
    for member in state["members"]:
        if member["email"] == email:
            return member
    raise LookupError(f"no member with e-mail {email}")


def list_lockers(state: dict, member_id: str) -> list[dict]:
    """List the lockers of a member."""
    return [{name: one[name] for name in ("id", "place", "status")} for one in _of(state, member_id)]


def get_locker(state: dict, locker_id: str) -> dict:
    """Show a locker with its deposit."""
    return _one(state, locker_id)


def set_deposit(state: dict, locker_id: str, deposit: int) -> dict:
    """Set the deposit of a locker, 10 to 90."""
    locker = _one(state, locker_id)
    if locker["status"] == "closed":
        raise ValueError(f"locker {locker_id} is closed")
    locker["deposit"] = deposit
    return locker


def check_deposit(state: dict, locker_id: str) -> dict:
    """Check that the deposit of a locker was paid."""
    return {"locker_id": locker_id, "paid": f"{_one(state, locker_id)['deposit'] * 3} euros", "floor": "upper deck"}


def _of(state, member_id):
    return [one for one in state["lockers"] if one["member_id"] == member_id]


def _one(state, locker_id):
    for one in state["lockers"]:
        if one["id"] == locker_id:
            return one
    raise LookupError(f"no locker {locker_id}")
'''
LOCKER_STATE = {
    "members": [
        {"id": f"M{number}", "name": name, "email": f"{name.split()[0].lower()}@example.com"}
        for number, name in enumerate(("Ira Vale", "Moe Finch", "Una Stark"), start=1)
    ],
    "lockers": [
        {
            "id": f"Q{10 * member + place}",
            "member_id": f"M{member}",
            "place": f"Row {member}{place}",
            "deposit": 10 * member + 3 * place,
            "status": "open" if place == 1 else "closed",
        }
        for member in (1, 2, 3)
        for place in (1, 2)
    ],
}


def test_a_fact_is_asked_for_by_its_own_thing_and_of_no_change_and_of_no_earlier_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows with a bare `id`: who the user is has one name, and the report says how many refusals are missing."""
    path = desk(tmp_path, "from: tools, count: 14, seed: 3, enriched: 1.0")
    (tmp_path / "kayak_tools.py").write_text(LOCKERS, encoding="utf-8")
    (tmp_path / "state.json").write_text(json.dumps(LOCKER_STATE), encoding="utf-8")

    assert main(["generate", str(path)]) == 0

    told, forms = capsys.readouterr().out, forms_in(tmp_path)
    for form in forms:
        said, last = str(form["says"]), form["expect"][-1]
        assert "of the deposit" not in said
        assert not (last["name"] == "set_deposit" and form.get("communicate"))
        if [one["name"] for one in form["expect"]][-2:] == ["list_lockers", "get_locker"]:
            assert form["communicate"][0].isdigit()  # the list has all but the deposit
        assert list(form["knows"].values()).count(form["provenance"]["owner"]["key"]) == 1
        assert "member id" in form["knows"]
    assert any(form.get("communicate") for form in forms)
    refused = [form for form in forms if "failure" in form["tags"]]
    for form in refused:
        first = form["says"][0]
        assert first["about"]  # whoever asks "Shall I?" gets a yes
        assert all(str(value) in first["request"] for value in first["about"])
    assert f"refusals: {len(refused)} of the {len(forms)} that `enriched` wants" in told
