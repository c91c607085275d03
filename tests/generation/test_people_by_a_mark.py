"""People who are known by a mark of the organisation, whose arguments have other names than the columns they are in."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.generation.run import Asked, generate

TOOLS = '''
def _holder(state, no):
    return next(one for one in state["holders"] if one["no"] == no)


def verify_holder(holder_mark: str, word: str, *, state: dict) -> dict:
    """Identify a holder by the mark on the boat and the word that was agreed on."""
    for one in state["holders"]:
        if one["mark"] == holder_mark and one["word"] == word:
            return {"holder": one["no"], "name": one["name"]}
    raise LookupError("No holder has this mark and this word.")


def list_moorings(holder: str, *, state: dict) -> list[dict]:
    """List the moorings of a holder."""
    _holder(state, holder)
    return [one for one in state["moorings"] if one["holder"] == holder]


def mooring_sheet(mooring_ref: str, *, state: dict) -> dict:
    """Show the sheet of a mooring."""
    for one in state["moorings"]:
        if one["ref"] == mooring_ref:
            return {"mooring": one["ref"], "holder": _holder(state, one["holder"])["name"], "stage": one["stage"]}
    raise LookupError("There is no such mooring.")


def give_up_mooring(mooring_ref: str, *, state: dict) -> str:
    """Give a mooring up."""
    for one in state["moorings"]:
        if one["ref"] == mooring_ref:
            if one["stage"] != "held":
                raise ValueError("Only a mooring that is held is given up.")
            one["stage"] = "free"
            return "The mooring is given up."
    raise LookupError("There is no such mooring.")
'''

REGISTRY = '''
def find_account(email: str, date_of_birth: str, *, state: dict) -> dict:
    """Find the account of a caller."""
    for number, one in state["accounts"].items():
        if one["mail"] == email.lower() and one["born"] == date_of_birth:
            return {"account": {"number": number, "holder": one["full_name"]}}
    raise LookupError("E1: no account with these")


def list_boats(account: str, *, state: dict) -> list[dict]:
    """List the boats of an account."""
    return [{"boat": name, "port": one["port"]} for name, one in state["boats"].items() if one["account"] == account]


def move_boat(craft: str, *, state: dict) -> str:
    """Move a boat to the other port."""
    if craft not in state["boats"]:
        raise LookupError(f"E2: no boat {craft}")
    boat = state["boats"][craft]
    boat["port"] = "SCW" if boat["port"] == "LER" else "LER"
    return "The boat moves."
'''

RENEW = '''
def renew_paper(paper: str, *, state: dict) -> str:
    """Renew a paper."""
    if paper != "P-77/41":
        raise LookupError(f"E2: no paper {paper}")
    return "The paper is renewed."
'''

NAMES = ("Ada Roy", "Ben Low", "Cleo Marr", "Dan Voss")
STATE = {
    "holders": [
        {"no": f"H-{301 + 10 * at}", "mark": mark, "word": word, "name": name}
        for at, (mark, word, name) in enumerate(
            zip(("AAL", "BOSK", "CUR", "DELF"), ("maple", "otter", "amber", "basalt"), NAMES, strict=True)
        )
    ],
    "moorings": [
        {"ref": f"M26-{117 + at}", "holder": f"H-{301 + 10 * (at % 4)}", "stage": "held" if at < 6 else "free"}
        for at in range(8)
    ],
}

POLICIES = [
    {
        "id": "identify",
        "text": "Identify the holder first.",
        "rule": {
            "before": {"calls": ["list_moorings", "mooring_sheet", "give_up_mooring"], "first": ["verify_holder"]}
        },
    },
    {
        "id": "sheet-first",
        "text": "Look at the sheet before a mooring is given up; it must be held.",
        "rule": {
            "only_if": {
                "calls": ["give_up_mooring"],
                "earlier": {"calls": ["mooring_sheet"], "same": ["mooring_ref"], "result": {"stage": "held"}},
            }
        },
    },
    {
        "id": "confirm",
        "text": "Ask for a yes before a mooring is given up.",
        "rule": {"confirm_before": {"calls": ["give_up_mooring"]}},
    },
]


PEOPLE = (("roy", "1961-03-09"), ("low", "1972-10-25"), ("marr", "1988-07-14"))
ACCOUNTS = {
    "accounts": {
        f"{4100 + at}": {"mail": f"{name}@mail.example", "born": day, "full_name": name.title()}
        for at, (name, day) in enumerate(PEOPLE)
    },
    "boats": {f"BT-{31 + at}": {"account": f"{4100 + at % 3}", "port": "LER" if at < 4 else "SCW"} for at in range(6)},
}
YES = {"id": "yes", "text": "Ask before a boat moves.", "rule": {"confirm_before": {"calls": ["move_boat"]}}}


def generated(
    folder: Path,
    tools: str,
    state: Mapping[str, Any],
    policies: Sequence[Mapping[str, Any]],
    *,
    reads: Sequence[str],
    writes: Sequence[str],
    recipe: Mapping[str, Any],
) -> tuple[Sequence[str], list[str]]:
    """Generate scenarios of a service; give the lines of the report, and the files."""
    (folder / "service.py").write_text(tools, encoding="utf-8")
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    suite = {
        "agent": "none:build",
        "environment": {"tools": "service", "state": {"json": "state.json"}, "reads": [*reads], "writes": [*writes]},
        "policies": [*policies],
        "scenarios": ["generated/scenarios/*.yaml"],
        "generate": {**recipe, "seed": 7},
    }
    path = folder / "agentbench.yaml"
    path.write_text(yaml.safe_dump(suite, sort_keys=False), encoding="utf-8")
    outcome = generate(Asked(suite=path), environ={}, told=lambda _: None)
    return outcome.lines, [one.read_text(encoding="utf-8") for one in folder.glob("generated/scenarios/*.yaml")]


@pytest.mark.parametrize("source", ["tools", "policies"])
def test_people_are_found_by_the_rows_that_a_lookup_checks(source: str, tmp_path: Path) -> None:
    """`holder_mark` is the `mark` of holders, whose word stands in the same row; a sheet tells the name of one."""
    lines, texts = generated(
        tmp_path,
        TOOLS,
        STATE,
        POLICIES,
        reads=["verify_holder", "list_moorings", "mooring_sheet"],
        writes=["give_up_mooring"],
        recipe={"from": source, "count": 6},
    )

    assert any(line.startswith("6 of 6 scenarios") for line in lines), lines
    assert not any("several owners" in line for line in lines)
    if source == "tools":
        assert sum(any(one["mark"] in text for text in texts) for one in STATE["holders"]) > 1
    else:
        assert not any(line.startswith("missing policies") for line in lines)


def test_a_lookup_by_two_values_of_other_names_is_found_by_one_row(tmp_path: Path) -> None:
    """`email` and `date_of_birth` are the `mail` and the `born` of an account, and `craft` is the key of a boat."""
    rule = {"before": {"calls": ["list_boats", "move_boat"], "first": ["find_account"]}}
    lines, _ = generated(
        tmp_path,
        REGISTRY,
        ACCOUNTS,
        [{"id": "account-first", "text": "Find the account first.", "rule": rule}, YES],
        reads=["find_account", "list_boats"],
        writes=["move_boat"],
        recipe={"from": "policies", "count": 4},
    )

    assert any(line.startswith("4 of 4 scenarios") for line in lines), lines
    assert not any(line.startswith("missing policies") for line in lines)


def test_what_no_row_holds_is_not_made_up_for_a_call_that_rules_forbid(tmp_path: Path) -> None:
    """A tool that refuses every number that is made up for it says nothing of what its rule forbids."""
    never = {"id": "no", "text": "No paper is renewed by phone.", "rule": {"never": {"calls": ["renew_paper"]}}}
    lines, texts = generated(
        tmp_path,
        REGISTRY + RENEW,
        ACCOUNTS,
        [YES, never],
        reads=["find_account", "list_boats"],
        writes=["move_boat", "renew_paper"],
        recipe={"from": "policies", "count": 4},
    )

    assert any(line.startswith("no is in no set") and "renew_paper refuses" in line for line in lines)
    assert texts
    assert not any("of this request" in text for text in texts)
