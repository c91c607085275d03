"""`policies.yaml`: what a person edited, added or removed stays; the rest follows the document."""

import pytest
import yaml

from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.generation.running import Asked, generate
from tests.generation.policies.airline import airline

DOCUMENT = "# Bookings\n\n- Void a booking once.\n- Look with `get_booking` first.\n- Promise nothing.\n"


@pytest.fixture
def desk(tmp_path):
    """A suite whose policies are read from a document."""
    file = airline(tmp_path, extra=", document: rules.md")
    text = file.read_text(encoding="utf-8").replace(", levels: {min: 1, max: 8}", "")
    start, end = text.index("policies:\n"), text.index("scenarios:")
    file.write_text(text[:start] + text[end:], encoding="utf-8")
    (tmp_path / "rules.md").write_text(DOCUMENT, encoding="utf-8")
    return file


def cards(file):
    """Run the recipe up to the policies; give the lines."""
    outcome = generate(Asked(suite=file, until="cards"), environ={}, told=lambda _: None)
    return "\n".join(outcome.lines)


def reviewed(file):
    """Give the file for review, and what it says by id."""
    path = file.parent / "generated" / "policies.yaml"
    text = path.read_text(encoding="utf-8")
    return path, text, {one["id"]: one for one in yaml.safe_load(text)}


def test_without_a_model_entries_stand_with_the_tools_that_they_name(desk):
    """Nothing is inferred: rule and challenge are null, and a person sees what to write."""
    lines = cards(desk)
    _, text, found = reviewed(desk)

    assert text.startswith("# Policies of rules.md, for review.")
    assert found["look-with-first"] == {
        "id": "look-with-first",
        "text": "Look with get_booking first.",
        "category": "Bookings",
        "challenge": None,
        "tools": ["get_booking"],
        "rule": None,
    }
    assert "3 policies read by structure, 0 with a rule, 3 for a judge alone" in lines


def test_a_second_run_changes_no_byte(desk):
    """Same document, same file."""
    cards(desk)
    _, first, _ = reviewed(desk)
    cards(desk)

    assert reviewed(desk)[1] == first


def test_what_a_person_wrote_stays_and_the_rest_follows_the_document(desk):
    """An edited entry keeps its lines and comments, a removed one stays away, others change with the document."""
    cards(desk)
    path, text, _ = reviewed(desk)
    before, rest = text.split("- id: void-a-booking-once\n")
    mine = "- id: void-a-booking-once   # asked in the team\n  text: Void once.\n  challenge: 2\n"
    mine += "  rule: {at_most: {calls: [void_booking], times: 1}}\n"
    own = "- id: ours\n  text: Be quick.\n"
    third = "- id: look-with-first" + rest.split("- id: look-with-first")[1].split("- id: promise-nothing")[0]
    path.write_text(before + mine + own + third, encoding="utf-8")
    (desk.parent / "rules.md").write_text(
        DOCUMENT.replace("Void a booking once.", "Void a booking twice.").replace("first.", "before.") + "- Be fair.\n",
        encoding="utf-8",
    )

    lines = cards(desk)
    _, text, found = reviewed(desk)

    assert mine + own in text
    assert list(found) == ["void-a-booking-once", "ours", "look-with-first", "be-fair"]
    assert found["look-with-first"]["text"] == "Look with get_booking before."
    assert "rules.md changed: 1 new, 2 changed, 0 gone" in lines
    assert "void-a-booking-once: the document now says 'Void a booking twice.'; its entry was edited" in lines
    assert "4 policies read by structure, 1 with a rule" in lines


def test_scenarios_that_rest_on_a_changed_policy_are_named(desk):
    """Ids survive the edit, so the scenario that lists the policy is found."""
    cards(desk)
    text = desk.read_text(encoding="utf-8").replace(
        "scenarios: [generated/scenarios/*.yaml]",
        "policies: generated/policies.yaml\nscenarios: [{id: two, says: [Hi], policies: [void-a-booking-once]}]",
    )
    desk.write_text(text, encoding="utf-8")
    (desk.parent / "rules.md").write_text(DOCUMENT.replace("once", "2 times"), encoding="utf-8")

    assert "two rests on it: 'void-a-booking-once' changed (numbers, words)" in cards(desk)


def test_a_file_that_cannot_be_read_is_an_error_with_its_place(desk):
    """Nothing is overwritten because of a typing mistake."""
    cards(desk)
    path, text, _ = reviewed(desk)
    path.write_text(text.replace("challenge: null", "challenge: hard", 1), encoding="utf-8")

    with pytest.raises(AgentBenchError, match=r"policies\.yaml:\d+:\d+: .*challenge.*'hard'"):
        cards(desk)
    assert "challenge: hard" in path.read_text(encoding="utf-8")
