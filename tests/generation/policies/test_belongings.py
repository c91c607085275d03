"""Events about what belongs to somebody, to somebody else, and to nobody: who asks, for which row, and what changes."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_agentbench.generation.run import Asked, Outcome, generate
from tests.generation.policies.kit import planned

SCHEMA = """
CREATE TABLE potters (badge TEXT PRIMARY KEY, name TEXT NOT NULL, pin TEXT NOT NULL, grade TEXT NOT NULL);
CREATE TABLE pots (pot_id TEXT PRIMARY KEY, badge TEXT REFERENCES potters, glaze TEXT NOT NULL, days INTEGER NOT NULL);
CREATE TABLE firings (firing_id INTEGER PRIMARY KEY, badge TEXT NOT NULL REFERENCES potters, kiln TEXT NOT NULL,
  day TEXT NOT NULL, UNIQUE (kiln, day));
"""

ROWS = """
potters:
  - {badge: KP-11, name: Ida Holm, pin: "4410", grade: member}
  - {badge: KP-12, name: Tom Reed, pin: "7732", grade: member}
pots:
  - {pot_id: T-501, badge: KP-11, glaze: ash, days: 3}
  - {pot_id: T-502, badge: KP-12, glaze: tenmoku, days: 2}
  - {pot_id: T-503, badge: KP-12, glaze: celadon, days: 4}
  - {pot_id: T-504, glaze: raku, days: 1}
firings:
  - {firing_id: 1, badge: KP-11, kiln: north, day: "2026-05-02"}
  - {firing_id: 2, badge: KP-12, kiln: south, day: "2026-05-02"}
"""

TOOLS = '''
import sqlite3


def check_badge(badge: str, pin: str, *, state: sqlite3.Connection) -> dict:
    """Check who somebody is."""
    row = state.execute("SELECT * FROM potters WHERE badge = ? AND pin = ?", (badge, pin)).fetchone()
    if row is None:
        raise PermissionError("badge and PIN do not match")
    return {"badge": row["badge"], "name": row["name"], "grade": row["grade"]}


def get_pot(pot_id: str, *, state: sqlite3.Connection) -> dict:
    """Look at a pot."""
    row = state.execute("SELECT * FROM pots WHERE pot_id = ?", (pot_id,)).fetchone()
    if row is None:
        raise LookupError(f"no pot {pot_id}")
    return dict(row)


def break_pot(pot_id: str, *, state: sqlite3.Connection) -> dict:
    """Break a pot."""
    get_pot(pot_id, state=state)
    state.execute("DELETE FROM pots WHERE pot_id = ?", (pot_id,))
    return {"pot_id": pot_id, "status": "broken"}


def keep_pot(badge: str, pot_id: str, days: int, *, state: sqlite3.Connection) -> dict:
    """Keep a pot on the shelf for some days in all."""
    get_pot(pot_id, state=state)
    state.execute("UPDATE pots SET days = ? WHERE pot_id = ?", (days, pot_id))
    return {"pot_id": pot_id, "days": days}


def adopt_pot(pot_id: str, badge: str, *, state: sqlite3.Connection) -> dict:
    """Give a pot to a potter."""
    glaze = get_pot(pot_id, state=state)["glaze"]
    state.execute("UPDATE pots SET badge = ? WHERE pot_id = ?", (badge, pot_id))
    return {"pot_id": pot_id, "holder": badge, "glaze": glaze}
'''

SUITE = """
agent: pot_agent:build
environment:
  tools: pot_tools
  state: {sqlite: {schema: schema.sql, rows: rows.yaml}}
  reads: [check_badge, get_pot]
  writes: [break_pot, keep_pot, adopt_pot]
policies:
  - id: identify
    text: Check the badge first.
    challenge: 1
    rule: {before: {calls: [get_pot, break_pot, keep_pot, adopt_pot], first: [check_badge]}}
  - {id: ask, text: Ask before a pot is broken., challenge: 1, rule: {confirm_before: {calls: [break_pot]}}}
  - id: a-week
    text: A pot is kept a week at most.
    challenge: 1
    rule: {never: {calls: [keep_pot], where: {days: {$gt: 7}}}}
  - id: dry
    text: No pot in celadon is kept.
    challenge: 1
    rule: {only_if: {calls: [keep_pot], earlier: {calls: [get_pot], same: [pot_id], result: {glaze: {$not: celadon}}}}}
  - id: own
    text: A member breaks no pot of somebody else.
    challenge: 1
    rule:
      when: {calls: [check_badge], result: {grade: member}}
      then:
        when: {calls: [get_pot], result: {badge: {$not: {$result: badge}}}}
        then: {never: {calls: [break_pot], where: {pot_id: {$argument: pot_id}}}}
  - id: tell
    text: Tell the glaze of an adopted pot.
    challenge: 1
    rule: {when: {calls: [adopt_pot]}, then: {must_say: {$result: glaze}}}
scenarios: [generated/scenarios/*.yaml]
generate: {from: policies, count: 12, seed: 3, levels: {min: 1, max: 3}}
"""


def written_to(folder: Path, suite: str) -> Path:
    """Write the suite of the pottery, and give its file."""
    files = {"schema.sql": SCHEMA, "rows.yaml": ROWS, "pot_tools.py": TOOLS, "agentbench.yaml": suite}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "agentbench.yaml"


@pytest.fixture(scope="module")
def pottery(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """Scenarios of a pottery whose people are told apart by their badges, and where some pots are nobody's."""
    file = written_to(tmp_path_factory.mktemp("pottery"), SUITE)
    return file, generate(Asked(suite=file), environ={}, told=lambda _: None)


def written(file: Path) -> list[dict[str, Any]]:
    """Give the scenarios as they were written."""
    return [
        yaml.safe_load(one.read_text(encoding="utf-8")) for one in sorted(file.parent.glob("generated/scenarios/*"))
    ]


def test_every_policy_is_decided_and_few_drafts_are_lost(pottery: tuple[Path, Outcome]) -> None:
    """Nobody has to say a badge twice for it to be said once, and a firing of the same day is no obstacle."""
    file, outcome = pottery
    told = "\n".join(outcome.lines)

    assert outcome.is_complete, told
    assert "is in no set" not in told
    assert int((re.search(r"lost: (\d+)", told) or [0, 0])[1]) <= 2, told
    decided = {run["policy"] for one in written(file) for run in one["provenance"]["wrong_runs"]}
    assert decided == {"identify", "ask", "a-week", "dry", "own", "tell"}


def test_who_asks_is_one_person_and_hears_nothing_of_somebody_else(pottery: tuple[Path, Outcome]) -> None:
    """Whoever asks for a pot of somebody else shows the own badge, and is not told what that pot is like."""
    foreign = {"T-501", "T-502", "T-503"}
    asked_for_others = 0

    for one in written(pottery[0]):
        lines = " ".join(map(str, one["says"]))
        assert set(re.findall(r"KP-\d+", lines)) <= {row["badge"] for row in one["state"]["potters"]}, one["id"]
        if foreign & set(re.findall(r"T-\d+", lines)):
            asked_for_others += 1
            assert "tell me" not in lines or not {"ash", "tenmoku", "celadon"} & set(one.get("communicate", [])), one[
                "id"
            ]
    assert asked_for_others


def test_nobody_asks_for_what_is_so_already(pottery: tuple[Path, Outcome]) -> None:
    """Days are not set to what they are, and a pot is adopted that is nobody's."""
    for one in written(pottery[0]):
        days = {row["pot_id"]: row["days"] for row in one["state"].get("pots", ())}
        for call in [*one.get("expect", ()), *one.get("never", ())]:
            if call["name"] == "keep_pot":
                assert days.get(call["arguments"]["pot_id"]) != call["arguments"].get("days"), one["id"]
            if call["name"] == "adopt_pot":
                assert call["arguments"]["pot_id"] == "T-504", one["id"]


async def test_a_badge_in_the_row_of_a_pot_does_not_say_who_asks(tmp_path: Path) -> None:
    """Where no rule has anybody identified, whoever keeps a pot says the badge, though the pot bears it, too.

    An agent that asks for the PIN all the same gets it.
    """
    suite = yaml.safe_load(SUITE)
    suite["policies"] = [one for one in suite["policies"] if one["id"] in ("a-week", "dry")]
    file = written_to(tmp_path, yaml.safe_dump(suite))

    found = await planned(file, 8, 1, 2)

    keeping = [one for one in found.drafts if any(call.call.name == "keep_pot" for call in one.asked)]
    assert keeping
    for draft in keeping:
        assert "badge" in {one.argument for turn in draft.turns for one in turn.states}, draft.id
        assert draft.known["pin"] in {"4410", "7732"}


async def test_values_of_the_recipe_are_asked_for(tmp_path: Path) -> None:
    """What exists is asked for, and of the rules' own figures what breaks them; never a figure of the row."""
    found = await planned(written_to(tmp_path, SUITE), 12, 1, 2, values={"keep_pot.days": (5, 6)})

    calls = [call.call for draft in found.drafts for turn in draft.turns for call in (*turn.calls, *turn.refused)]
    assert {call.arguments["days"] for call in calls if call.name == "keep_pot"} - {7, 8} == {5, 6}


KILN = {
    "schema.sql": """
CREATE TABLE glazes (code TEXT PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE makers (mark TEXT PRIMARY KEY, name TEXT NOT NULL, word TEXT NOT NULL);
CREATE TABLE pieces (no TEXT PRIMARY KEY, mark TEXT REFERENCES makers, glaze TEXT REFERENCES glazes);
""",
    "rows.yaml": """
glazes: [{code: CEL-1, name: Celadon}, {code: ASH-2, name: Ash}]
makers: [{mark: HZL-4, name: Hazel Oduya, word: thistle}, {mark: BRK-2, name: Bo Rook, word: pebble}]
pieces: [{no: P-26, mark: HZL-4, glaze: CEL-1}, {no: P-27, mark: BRK-2, glaze: ASH-2}]
""",
    "kiln_tools.py": '''
def sign_in(mark: str, word: str, *, state) -> dict:
    """Sign a maker in."""
    row = state.execute("SELECT mark, name FROM makers WHERE mark = ? AND word = ?", (mark, word)).fetchone()
    if row is None:
        raise PermissionError("mark and word do not match")
    return dict(row)


def glaze_piece(mark: str, no: str, code: str, *, state) -> dict:
    """Glaze a piece of a maker's own."""
    if state.execute("UPDATE pieces SET glaze = ? WHERE no = ? AND mark = ?", (code, no, mark)).rowcount == 0:
        raise LookupError("no such piece")
    return {"no": no, "glaze": code}
''',
    "agentbench.yaml": """
agent: kiln_agent:build
environment:
  tools: kiln_tools
  state: {sqlite: {schema: schema.sql, rows: rows.yaml}}
  reads: [sign_in]
  writes: [glaze_piece]
policies:
  - id: sign-in
    text: Sign the maker in first.
    challenge: 1
    rule: {before: {calls: [glaze_piece], first: [sign_in], same: [mark]}}
  - {id: ask, text: Ask before you glaze., challenge: 1, rule: {confirm_before: {calls: [glaze_piece]}}}
scenarios: [generated/scenarios/*.yaml]
generate: {from: policies, count: 8, seed: 3, levels: {min: 1, max: 2}}
""",
}


async def test_a_conversation_is_that_of_whom_a_lookup_checks(tmp_path: Path) -> None:
    """A glaze has a name, too, and pieces name it as they name their maker: what proves itself is a person."""
    for name, text in KILN.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    found = await planned(tmp_path / "agentbench.yaml", 6, 1, 2)

    assert {draft.owner.table for draft in found.drafts} == {"makers"}
    assert not any(draft.owner.role for draft in found.drafts)


async def test_values_that_are_keys_of_a_table_name_its_rows(tmp_path: Path) -> None:
    """Where tools call a maker's mark `card`, a recipe that lists cards says whose they are: nobody is two people."""
    suite = KILN["agentbench.yaml"].replace("same: [mark]", "same: [card]")
    for name, text in {**KILN, "agentbench.yaml": suite}.items():
        (tmp_path / name).write_text(text.replace("mark: str", "card: str").replace("(mark,", "(card,"), "utf-8")
    tools = (tmp_path / "kiln_tools.py").read_text("utf-8").replace("no, mark)", "no, card)")
    (tmp_path / "kiln_tools.py").write_text(tools, "utf-8")

    found = await planned(tmp_path / "agentbench.yaml", 4, 1, 2, values={"card": ("HZL-4", "BRK-2")})

    cards = [{str(call.call.arguments["card"]) for call in draft.calls} for draft in found.drafts]
    assert [len(several) for several in cards] == [1] * 4
    assert all(
        draft.owner.table == "makers" and str(draft.owner.key) in cards[at] for at, draft in enumerate(found.drafts)
    )
