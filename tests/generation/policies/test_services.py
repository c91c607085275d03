"""Events of a service with a JSON state that has no owners: what is done, what is refused, rules about the state."""

import shutil
from pathlib import Path

import yaml

from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.policies.source import planner_of
from pytest_agentbench.generation.run import Asked, generate
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.policies.kit import planned

SERVICES = Path(__file__).resolve().parents[1] / "services"

HOTEL = """
agent: hotel_agent:build
environment:
  tools: hotel_tools
  state: {json: hotel_state.json}
  reads: [find_rooms, room_details, get_booking]
  writes: [book_room, cancel_booking]
policies:
  - {id: look-first, text: Look first., challenge: 1,
     rule: {before: {calls: [cancel_booking], first: [get_booking], same: [reference]}}}
  - {id: ask, text: Ask first., challenge: 2, rule: {confirm_before: {calls: [cancel_booking]}}}
  - {id: short-only, text: Cancel short stays alone., challenge: 3, rule: {only_if: {calls: [cancel_booking],
     SHORT}}}
  - {id: a-week, text: Book a week at most., challenge: 2,
     rule: {never: {calls: [book_room], where: {nights: {$gt: 7}}}}}
  - {id: say-so, text: Say that the stay is gone., challenge: 1,
     rule: {when: {calls: [cancel_booking]}, then: {must_say: is cancelled}}}
  - {id: kind, text: Be kind., challenge: 1}
scenarios: [generated/scenarios/*.yaml]
generate: {from: policies, count: 10, seed: 3, levels: {min: 1, max: 6}}
"""
SEEN = "earlier: {calls: [get_booking], same: [reference], result: {nights: {$lte: 3}}}"
STORED = "state: {at: [bookings, {$argument: reference}], value: {nights: {$lte: 3}}}"


def hotel(folder: Path, short: str) -> Path:
    """Write the suite of the hotel."""
    for name in ("hotel_tools.py", "hotel_state.json"):
        shutil.copy(SERVICES / name, folder / name)
    (folder / "hotel_agent.py").write_text("def build():\n    return lambda message: 'Hello'\n", encoding="utf-8")
    file = folder / "agentbench.yaml"
    file.write_text(HOTEL.replace("SHORT", short), encoding="utf-8")
    return file


def test_scenarios_of_the_hotel_are_accepted_and_their_wrong_runs_fail(tmp_path: Path) -> None:
    """The right run passes, each wrong one has a finding, and a stay that is too long is not cancelled."""
    file = hotel(tmp_path, SEEN)

    outcome = generate(Asked(suite=file), environ={}, told=lambda _: None)

    assert outcome.is_complete, outcome.lines
    stays = yaml.safe_load((tmp_path / "hotel_state.json").read_text(encoding="utf-8"))["bookings"]
    for one in load_suite(file, environ={}).scenarios:
        rows = {**stays, **one.task.initial_state.initialization_data["agent_data"]["bookings"]}
        for call in one.expected_calls:
            if call.name == "cancel_booking":
                assert rows[call.arguments["reference"]]["nights"] <= 3
        for wrong in one.provenance["wrong_runs"]:
            assert wrong["finding"]
        if one.id.split("-")[-2] == "refused" or any(line.act == "decline" for line in one.says):
            assert one.match.expected_calls == "writes", one.id


async def test_rules_about_the_state_are_judged_on_the_rows_of_the_event(tmp_path: Path) -> None:
    """The fresh booking is in the state that the rule reads, so a short one may be cancelled and a long one may not."""
    found = await planned(hotel(tmp_path, STORED), 10, 1, 6)

    events = {(part.policy, part.event) for draft in found.drafts for part in draft.policies}
    assert ("short-only", "requested") in events
    for draft in found.drafts:
        for call in draft.calls:
            if call.call.name == "cancel_booking":
                assert draft.state["bookings"][call.call.arguments["reference"]]["nights"] <= 3


async def test_what_must_be_said_has_a_run_that_leaves_it_out(tmp_path: Path) -> None:
    """A rule about words is decided by a run without them; one without a rule or tool is in no set."""
    found = await planned(hotel(tmp_path, SEEN), 10, 1, 6)

    kinds = {
        run.kind
        for draft in found.drafts
        for part in draft.policies
        for run in part.wrong_runs
        if part.policy == "say-so"
    }
    assert kinds == {"unsaid"}
    # each room is taken, so the refusal of a longer stay is not that of `a-week`
    assert set(found.source.left_out) == {"kind", "a-week"}
    assert found.source.left_out["kind"] == "it has no rule and names no tool"


async def test_a_refusal_without_a_change_has_a_value_to_tell(tmp_path: Path) -> None:
    """Beside what is refused or declined the user asks for a value of an answer, so that doing nothing is wrong."""
    found = await planned(hotel(tmp_path, SEEN), 10, 1, 6)

    bare = [one for one in found.drafts if not any(call.writes for call in one.calls)]
    assert bare
    for draft in bare:
        (wanted,) = [(one, turn) for turn in draft.turns for one in turn.wanted]
        assert wanted[0].text in wanted[1].calls[wanted[0].call].answer


LIBRARY_TOOLS = """
def lend_book(book_id: str, *, state: dict) -> str:
    \"Lend a book.\"
    state["books"][book_id]["lent"] = True
    return "lent"


def return_book(book_id: str, *, state: dict) -> str:
    \"Take a book back.\"
    state["books"][book_id]["lent"] = False
    return "returned"
"""

LIBRARY = """
agent: library_agent:build
environment: {tools: library_tools, state: {json: library.json}, writes: [lend_book, return_book]}
policies:
  - {id: ask-lend, text: Ask before you lend., challenge: 1, rule: {confirm_before: {calls: [lend_book]}}}
  - {id: ask-return, text: Ask before you take back., challenge: 1, rule: {confirm_before: {calls: [return_book]}}}
scenarios: [generated/scenarios/*.yaml]
generate: {from: policies}
"""


async def test_an_event_does_not_end_as_it_began(tmp_path: Path) -> None:
    """A book that is lent and returned leaves no trace, and an agent that does neither would pass."""
    (tmp_path / "library_tools.py").write_text(LIBRARY_TOOLS, encoding="utf-8")
    (tmp_path / "library.json").write_text('{"books": {"B-11": {"book_id": "B-11", "lent": false}}}', encoding="utf-8")
    file = tmp_path / "agentbench.yaml"
    file.write_text(LIBRARY, encoding="utf-8")

    found = await planned(file, 12, 2, 2)

    assert any(draft.provenance["attempt"] > 1 for draft in found.drafts)
    for draft in found.drafts:
        assert [call.call.name for call in draft.calls] != ["lend_book", "return_book"]


BACKUPS = """
from pathlib import Path

LOG = Path(__file__).with_name("log.txt")


def delete_backup(reference: str) -> str:
    \"Delete the backup of a booking.\"
    with LOG.open("a") as file:
        file.write("delete_backup\\n")
    return "deleted"
"""


def with_backups(folder: Path, recipe: str = "") -> tuple[Path, Path]:
    """Add a function that takes no state and destroys; give the suite's file and the log of its calls."""
    file = hotel(folder, SEEN)
    tools = (folder / "hotel_tools.py").read_text(encoding="utf-8")
    (folder / "hotel_tools.py").write_text(f"{tools}\n{BACKUPS}", encoding="utf-8")
    text = file.read_text(encoding="utf-8").replace("count: 10", f"count: 2{recipe}")
    file.write_text(text.replace("cancel_booking]\npol", "cancel_booking, delete_backup]\npol"), encoding="utf-8")
    return file, folder / "log.txt"


def test_what_destroys_outside_of_the_state_is_not_called(tmp_path: Path) -> None:
    """A declared write is no permission where the state does not hold what it takes away; the outcome says so."""
    file, log = with_backups(tmp_path)

    outcome = generate(Asked(suite=file), environ={}, told=lambda _: None)

    assert not log.exists()
    assert "generate: {allow: [delete_backup]}" in "\n".join(outcome.lines)


def test_what_the_recipe_allows_by_name_is_called(tmp_path: Path) -> None:
    """The line that the outcome gives has the tool called."""
    file, log = with_backups(tmp_path, ", allow: [delete_backup]")

    outcome = generate(Asked(suite=file), environ={}, told=lambda _: None)

    assert log.exists()
    assert "not called" not in "\n".join(outcome.lines)


async def test_keys_and_owners_of_a_database_without_references_are_told_by_its_rows(tmp_path: Path) -> None:
    """`ausleihe_id` is the key of `ausleihen`; people own what refers to them, and devices have numbers."""
    shutil.copytree(SERVICES.parents[2] / "benchmarks" / "labelled" / "verleih", tmp_path, dirs_exist_ok=True)
    file = tmp_path / "made.agentbench.yaml"
    file.write_text("extends: agentbench.yaml\nname: made\ngenerate: {from: policies, count: 4}\n", encoding="utf-8")
    suite = load_suite(file, environ={}, generating=True)

    planner = await planner_of(suite, load_toolset(suite.environment, suite.root))

    assert {table for table, _ in planner.roots} == {"kunden"}
    tables = {tool: [one.table for one in taken] for tool, taken in planner.runs.arguments.of.items()}
    assert tables["ausleihe_anlegen"] == ["kunden", "geraete", ""]
    assert tables["stornieren"] == ["ausleihen"]


GIFTS = '''
def send_gift(guest_id: str, *, state: dict) -> dict:
    """Send a guest a gift."""
    state["gifts"].append({"guest_id": guest_id, "wish": state["guests"][guest_id]["wish"]})
    return {"guest_id": guest_id, "sent": len(state["gifts"])}


def hand_key(guest_id: str, *, state: dict) -> dict:
    """Hand a guest the key."""
    if state["guests"][guest_id]["key"]:
        raise ValueError(f"{guest_id} has a key")
    state["guests"][guest_id]["key"] = True
    return {"guest_id": guest_id, "key": True}
'''


def test_a_call_made_twice_breaks_a_limit_unless_the_tool_refuses_it(tmp_path: Path) -> None:
    """Of one gift there are no two things to ask for: the wrong run sends it twice. A second key nobody gets."""
    (tmp_path / "gift_tools.py").write_text(GIFTS, encoding="utf-8")
    (tmp_path / "gifts.json").write_text(
        '{"guests": {"G1": {"name": "Ira", "wish": "tea", "key": false}, "G2": {"name": "Moe", "wish": "jam",'
        ' "key": false}}, "gifts": [{"guest_id": "G2", "wish": "jam"}]}',
        encoding="utf-8",
    )
    file = tmp_path / "agentbench.yaml"
    file.write_text(
        "agent: gift_agent:build\n"
        "environment: {tools: gift_tools, state: {json: gifts.json}, writes: [send_gift, hand_key]}\n"
        "policies:\n"
        "  - {id: one-gift, text: One gift., challenge: 1, rule: {at_most: {calls: [send_gift], times: 1}}}\n"
        "  - {id: one-key, text: One key., challenge: 1, rule: {at_most: {calls: [hand_key], times: 1}}}\n"
        "scenarios: [generated/scenarios/*.yaml]\ngenerate: {from: policies, count: 2, levels: {min: 1, max: 2}}\n",
        encoding="utf-8",
    )

    found = generate(Asked(suite=file), environ={}, told=lambda _: None)

    told = " ".join(" ".join(found.lines).split())
    assert "one-key is in no set: its rule is set off, and enforced by the tool: hand_key refuses the same call" in told
    scenarios = load_suite(file, environ={}).scenarios
    wrong = [one for scenario in scenarios for one in scenario.provenance["wrong_runs"]]
    assert [(one["policy"], one["change"]) for one in wrong][:1] == [("one-gift", "send_gift is called twice")]
    assert "was call number 2, allowed 1 time at most" in wrong[0]["finding"]


NIGHTS = '''
def find_observer(badge: str, pin: str, *, state: dict) -> dict:
    """Identify an observer."""
    if state["observers"][badge]["pin"] != pin:
        raise ValueError("wrong pin")
    return {"badge": badge, "name": state["observers"][badge]["name"]}


def get_booking(booking_id: str, *, state: dict) -> dict:
    """Look up one booking."""
    return {"booking_id": booking_id, **state["bookings"][booking_id]}


def cancel_booking(booking_id: str, *, state: dict) -> dict:
    """Cancel a booking."""
    state["bookings"][booking_id]["status"] = "cancelled"
    return {"booking_id": booking_id, "status": "cancelled"}
'''


async def test_who_asks_for_somebody_elses_row_identifies_as_nobody_else(tmp_path: Path) -> None:
    """Only one observer has a locked booking: others ask for it with a badge and a pin of their own."""
    (tmp_path / "night_tools.py").write_text(NIGHTS, encoding="utf-8")
    (tmp_path / "nights.json").write_text(
        '{"observers": {"OB-41": {"name": "Ilse Brandt", "pin": "4410"},'
        ' "OB-52": {"name": "Tomas Rey", "pin": "7732"}},'
        ' "bookings": {"B301": {"badge": "OB-41", "night": "Monday", "status": "open"},'
        ' "B302": {"badge": "OB-41", "night": "Tuesday", "status": "locked"},'
        ' "B303": {"badge": "OB-52", "night": "Friday", "status": "open"}}}',
        encoding="utf-8",
    )
    file = tmp_path / "agentbench.yaml"
    file.write_text(
        "agent: night_agent:build\n"
        "environment: {tools: night_tools, state: {json: nights.json}, reads: [find_observer, get_booking],"
        " writes: [cancel_booking]}\n"
        "policies:\n"
        "  - {id: identify, text: Identify., challenge: 1, rule: {before: {calls: [cancel_booking],"
        " first: [find_observer]}}}\n"
        "  - {id: open-only, text: Locked stays., challenge: 2, rule: {only_if: {calls: [cancel_booking],"
        " earlier: {calls: [get_booking], same: [booking_id], result: {status: open}}}}}\n"
        "scenarios: [generated/scenarios/*.yaml]\ngenerate: {from: policies}\n",
        encoding="utf-8",
    )

    found = await planned(file, 6, 1, 4)

    strangers = [draft for draft in found.drafts if draft.owner.role]
    assert strangers
    for draft in found.drafts:
        badges = {call.call.arguments["badge"] for call in draft.calls if call.call.name == "find_observer"}
        assert badges <= {draft.owner.key}, draft.turns


VIALS = '''
def verify_badge(state, badge: str, pin: str) -> dict:
    """Check who somebody is."""
    row = state.execute("SELECT badge, name FROM people WHERE badge = ? AND pin = ?", (badge, pin)).fetchone()
    if row is None:
        raise ValueError("badge and pin do not match")
    return dict(row)


def get_sample(state, sample_id: str) -> dict:
    """Look at one sample."""
    return dict(state.execute("SELECT * FROM samples WHERE id = ?", (sample_id,)).fetchone())


def withdraw_vials(state, badge: str, sample_id: str, vials: int) -> dict:
    """Take vials of a sample."""
    state.execute("UPDATE samples SET vials = vials - ? WHERE id = ?", (vials, sample_id))
    return {"sample_id": sample_id, "taken": vials}
'''
VIAL_ROWS = """
people:
  - {badge: B-11, name: Ines Marlow, pin: "4410"}
  - {badge: B-12, name: Tomo Reyes, pin: "7732"}
samples:
  - {id: S-101, label: HeLa, owner: B-11, vials: 6, status: ok}
  - {id: S-102, label: yeast, owner: B-12, vials: 9, status: ok}
"""


async def test_a_badge_that_an_answer_shows_later_is_said_to_whom_checks_it_first(tmp_path: Path) -> None:
    """The sample's answer has the badge of its owner, but the check of the badge comes before it."""
    (tmp_path / "vial_tools.py").write_text(VIALS, encoding="utf-8")
    (tmp_path / "rows.yaml").write_text(VIAL_ROWS, encoding="utf-8")
    (tmp_path / "schema.sql").write_text(
        "CREATE TABLE people (badge TEXT PRIMARY KEY, name TEXT, pin TEXT);"
        "CREATE TABLE samples (id TEXT PRIMARY KEY, label TEXT, owner TEXT REFERENCES people(badge), vials INTEGER,"
        " status TEXT);",
        encoding="utf-8",
    )
    file = tmp_path / "agentbench.yaml"
    file.write_text(
        "agent: vial_agent:build\n"
        "environment: {tools: vial_tools, state: {sqlite: {schema: schema.sql, rows: rows.yaml}},"
        " reads: [verify_badge, get_sample], writes: [withdraw_vials]}\n"
        "policies:\n"
        "  - {id: identify, text: Identify., challenge: 1, rule: {before: {calls: [get_sample, withdraw_vials],"
        " first: [verify_badge]}}}\n"
        "  - {id: ok-only, text: Sound ones alone., challenge: 2, rule: {only_if: {calls: [withdraw_vials],"
        " earlier: {calls: [get_sample], same: [sample_id], result: {status: ok}}}}}\n"
        "scenarios: [generated/scenarios/*.yaml]\ngenerate: {from: policies}\n",
        encoding="utf-8",
    )

    found = await planned(file, 3, 1, 3)

    assert found.drafts
    for draft in found.drafts:
        said = [one.value for turn in draft.turns for one in turn.states]
        assert {call.call.arguments.get("badge", said[0]) for call in draft.calls} <= set(said), draft.turns
