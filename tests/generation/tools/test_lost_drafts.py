"""No draft is lost where answers and arguments differ in names, entries have parts, and people have things."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.cli import main
from pytest_agentbench.generation.argument_names import distinct, entries
from pytest_agentbench.generation.language.plain import SaidReference
from tests.tables import each

TOOLS = '''
def find_sailor(state: dict, email: str) -> dict:
    """Find a sailor by e-mail address."""
    for key, one in state["sailors"].items():
        if one["email"] == email:
            return {"sailor": {"key": key, "name": one["name"]}, "since": one["since"]}
    raise LookupError(f"no sailor with e-mail {email}")


def moorings_of(state: dict, sailor_key: str) -> dict:
    """List the moorings of a sailor."""
    every = [(ref, one) for ref, one in state["moorings"].items() if one["sailor_key"] == sailor_key]
    return {"items": [_shown(ref, one) for ref, one in every], "page": {"number": 1, "of": 1}}


def pier_depth(state: dict, pier_code: str) -> dict:
    """Show how deep the water is at a pier."""
    return {"depth_cm": state["piers"][pier_code]["depth_cm"], "keeper": state["piers"][pier_code]["keeper"]}


def search_sails(state: dict, text: str) -> list[dict]:
    """Search the sails that are lent by a part of their name."""
    every = [{"sail_no": key, **one} for key, one in state["sails"].items()]
    return [one for one in every if text.lower() in one["name"].lower()]


def lend_sail(state: dict, mooring_ref: str, sail: str) -> dict:
    """Lend a sail to the boat at a mooring."""
    if sail not in state["sails"]:
        raise LookupError(f"no sail {sail}")
    state["moorings"][mooring_ref]["sail"] = sail
    return {"lent": state["sails"][sail]["name"]}


def free_boxes(state: dict, pier_code: str) -> list[dict]:
    """List the free boxes of a pier."""
    return [{"box_id": key, **one} for key, one in state["boxes"].items() if one["pier_code"] == pier_code]


def move_boat(state: dict, mooring_ref: str, new_box: str) -> dict:
    """Move the boat at a mooring to another box."""
    state["boxes"][new_box]["wide"] = 0
    state["moorings"][mooring_ref]["box"] = new_box
    return {"box": new_box}


def _shown(ref, one):
    return {"mooring": {"ref": ref, "state": "paid"}, "pier": {"code": one["pier_code"], "side": one["side"]}}
'''
STATE = {
    "sailors": {
        f"sl_{key}": {"name": name, "email": f"{name.split()[0].lower()}@example.com", "since": f"20{10 + place}-03-01"}
        for place, (key, name) in enumerate((("7f21", "Ira Vale"), ("91c4", "Moe Finch"), ("b3d8", "Una Stark")))
    },
    "moorings": {
        f"MO-{place}K{place + 3}T": {"sailor_key": key, "pier_code": pier, "side": side, "sail": "", "box": ""}
        for place, (key, pier, side) in enumerate(
            (
                ("sl_7f21", "WEST", "lee"), ("sl_7f21", "EAST", "quay"), ("sl_91c4", "EAST", "lee"),
                ("sl_91c4", "WEST", "quay"), ("sl_b3d8", "WEST", "quay"), ("sl_b3d8", "EAST", "lee"),
            )
        )
    },
    "piers": {"WEST": {"depth_cm": 240, "keeper": "Old Ned"}, "EAST": {"depth_cm": 310, "keeper": "Kit Roe"}},
    "sails": {
        "S-104": {"name": "Canvas storm jib", "cloth": "canvas", "loft": "Harwich"},
        "S-118": {"name": "Nylon spinnaker", "cloth": "nylon", "loft": "Cowes"},
        "S-131": {"name": "Dacron genoa", "cloth": "dacron", "loft": "Poole"},
    },
    "boxes": {
        f"BX{number}": {"pier_code": pier, "wide": 250 + number}
        for number, pier in ((11, "WEST"), (12, "WEST"), (13, "WEST"), (21, "EAST"), (22, "EAST"), (23, "EAST"))
    },
}  # fmt: skip
SUITE = """\
agent: yard_agent:build
now: 2026-04-22T08:30Z
environment: {tools: yard_tools, state: {json: yard_state.json}}
policies:
- {id: who, text: Find the sailor before anything is changed., rule: {before: {calls: writes, first: [find_sailor]}}}
generate: {from: tools, count: 20, seed: 7}
scenarios: [generated/scenarios/*.yaml]
"""


def test_no_draft_is_lost_to_names_parts_and_owners(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "yard_tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "yard_agent.py").write_text("def build():\n    return lambda text: 'Good morning.'\n", encoding="utf-8")
    (tmp_path / "yard_state.json").write_text(json.dumps(STATE), encoding="utf-8")
    (tmp_path / "yard.agentbench.yaml").write_text(SUITE, encoding="utf-8")

    assert main(["generate", str(tmp_path / "yard.agentbench.yaml")]) == 0, capsys.readouterr().out

    report = json.loads((tmp_path / "generated" / "report.json").read_text(encoding="utf-8"))
    assert report["lost"] == []
    forms = [yaml.safe_load(one.read_text("utf-8")) for one in (tmp_path / "generated" / "scenarios").glob("*.yaml")]
    chains = [[call["name"] for call in form["expect"]] for form in forms]
    for first, last in (("moorings_of", "move_boat"), ("search_sails", "lend_sail"), ("free_boxes", "move_boat")):
        assert any(first in names[: names.index(last)] for names in chains if last in names), (first, last)


SHEETS = [{"lot": {"ref": "L1", "state": "in"}, "barn": {"code": "B7", "gate": 2}}, {"lot": {"ref": "L2"}, "barn": {}}]
KINDS = [{"code": "OAK", "soils": ["clay", "sand"]}, {"code": "ASH", "soils": ["loam", "peat"]}]
PAIRS = [{"id": "P1", "twins": [{"id": "T1"}, {"id": "T2"}]}, {"id": "P2", "twins": [{"id": "T3"}, {"id": "T4"}]}]


@each(
    ("answer", "label", "thing", "count", "found"),
    [
        ({"items": SHEETS}, "ref", "ref", 2, ["L1"]),  # the parts of an entry are no entries
        ({"items": SHEETS}, "barn code", "barn", 2, ["B7"]),
        (KINDS, "tree", "tree", 2, ["OAK"]),  # soils are no trees
        ({"kinds": KINDS, "trees": ["elm", "fir"]}, "tree", "tree", 2, ["elm", "OAK"]),  # either may be meant
        (PAIRS, "pair", "pair", 2, ["P1", "T1", "T2", "T3"]),  # either may be meant
        ({"old": {"ref": "A1", "x": 1}, "new": {"ref": "A2", "x": 2}}, "ref", "ref", 2, ["A1"]),
        ([{"id": 70, "scale": {"scale_no": "S4"}}], "scale", "scale", 1, ["S4"]),
        ([{"scale": {"id": "S4"}, "shop": {"id": "H1"}}], "scale id", "scale", 1, ["S4"]),
        ([{"scale": {"code": "S4"}, "old": {"scale_code": "S5"}}], "scale code", "scale", 1, ["S4", "S5"]),
        (["CR-26 open"], "case", "case", 1, ["CR-26"]),
        (["CR-26 open", "CR-27 open"], "case", "case", 1, ["CR-26", "CR-27"]),
    ],
)  # fmt: skip
def test_a_reader_finds_what_is_pointed_at_or_all_that_may_be_meant(
    answer: Any, label: str, thing: str, count: int, found: list[str]
) -> None:
    one = SaidReference(label=label, thing=thing, count=count)

    assert sorted(map(str, distinct(entries(answer, one)))) == sorted(found)
