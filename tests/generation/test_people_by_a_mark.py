"""People who are known by a mark of the organisation, whose arguments have other names than the columns they are in."""

import json
from pathlib import Path

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

NAMES = ("Maud Ferris", "Oswin Batty", "Ines Calloway", "Tobias Ure")
STATE = {
    "holders": [
        {"no": f"H-{204 + 15 * at}", "mark": mark, "word": word, "name": name}
        for at, (mark, word, name) in enumerate(
            zip(("TWR", "KELD", "SNP", "BRIG"), ("gentian", "plover", "cinder", "anvil"), NAMES, strict=True)
        )
    ],
    "moorings": [
        {"ref": f"M26-{117 + at}", "holder": f"H-{204 + 15 * (at % 4)}", "stage": "held" if at < 6 else "free"}
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


@pytest.mark.parametrize("source", ["tools", "policies"])
def test_people_are_found_by_the_rows_that_a_lookup_checks(source: str, tmp_path: Path) -> None:
    """`holder_mark` is the `mark` of holders, whose word stands in the same row; a sheet tells the name of one."""
    (tmp_path / "harbour.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "state.json").write_text(json.dumps(STATE), encoding="utf-8")
    suite = {
        "agent": "none:build",
        "environment": {
            "tools": "harbour",
            "state": {"json": "state.json"},
            "reads": ["verify_holder", "list_moorings", "mooring_sheet"],
            "writes": ["give_up_mooring"],
        },
        "policies": POLICIES,
        "scenarios": ["generated/scenarios/*.yaml"],
        "generate": {"from": source, "count": 6, "seed": 7},
    }
    path = tmp_path / "agentbench.yaml"
    path.write_text(yaml.safe_dump(suite, sort_keys=False), encoding="utf-8")

    outcome = generate(Asked(suite=path), environ={}, told=lambda _: None)

    assert any(line.startswith("6 of 6 scenarios") for line in outcome.lines), outcome.lines
    assert not any("several owners" in line for line in outcome.lines)
    texts = [file.read_text(encoding="utf-8") for file in tmp_path.glob("generated/scenarios/*.yaml")]
    if source == "tools":
        assert sum(any(one["mark"] in text for text in texts) for one in STATE["holders"]) > 1
    else:
        assert not any(line.startswith("missing policies") for line in outcome.lines)
