"""`policies.yaml`: what a person edited, added or removed stays; the rest follows the document."""

import asyncio
import json

import pytest
import yaml

from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.policies.data_types import ExtractedPolicy
from pytest_agentbench.generation.policies.pipeline import run
from pytest_agentbench.generation.policies.review import read_forms, review
from pytest_agentbench.generation.run import Asked, generate
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.policies.airline import airline
from tests.users.llm.chat import PlayedChat

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
    assert found["look-with-get_booking-first"] == {
        "id": "look-with-get_booking-first",
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


def test_a_document_of_any_language_is_written_for_review(desk):
    """Letters that ASCII does not have are written as they are."""
    document = "# Réservations\n\n- Annulez une réservation au plus tôt. 予約\n"
    (desk.parent / "rules.md").write_text(document, encoding="utf-8")

    cards(desk)
    _, text, found = reviewed(desk)

    assert [one["text"] for one in found.values()] == ["Annulez une réservation au plus tôt. 予約"]
    assert "Réservations" in text


def test_what_a_person_wrote_stays_and_the_rest_follows_the_document(desk):
    """An edited entry keeps its lines and comments, a removed one stays away, others change with the document."""
    cards(desk)
    path, text, _ = reviewed(desk)
    before, rest = text.split("- id: void-a-booking-once\n")
    mine = "- id: void-a-booking-once   # asked in the team\n  text: Void once.\n  challenge: 2\n"
    mine += "  rule: {at_most: {calls: [void_booking], times: 1}}\n"
    own = "- id: ours\n  text: Be quick.\n"
    third = (
        "- id: look-with-get_booking-first"
        + rest.split("- id: look-with-get_booking-first")[1].split("- id: promise-nothing")[0]
    )
    path.write_text(before + mine + own + third, encoding="utf-8")
    (desk.parent / "rules.md").write_text(
        DOCUMENT.replace("Void a booking once.", "Void a booking twice.").replace("first.", "before.") + "- Be fair.\n",
        encoding="utf-8",
    )

    lines = cards(desk)
    _, text, found = reviewed(desk)

    assert mine + own in text
    assert list(found) == ["void-a-booking-once", "ours", "look-with-get_booking-first", "be-fair"]
    assert found["look-with-get_booking-first"]["text"] == "Look with get_booking before."
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


def played(desk, *answers):
    """Read policies with a model that gives these answers; give the lines and how often it was asked."""
    text = desk.read_text(encoding="utf-8")
    if "llm:" not in text:
        desk.write_text(
            text.replace("document: rules.md", "document: rules.md, llm: {model: played}"), encoding="utf-8"
        )
    suite = load_suite(desk, environ={}, generating=True)
    chat = PlayedChat(*map(json.dumps, answers))
    toolset = load_toolset(suite.environment, suite.root)
    outcome = asyncio.run(run(suite, toolset, chats=lambda _: chat, until="cards"))
    return "\n".join(outcome.lines), len(chat.asked)


def rules(*texts):
    """Give what the extractor says: each text is the rule of one block, in order."""
    return {
        "rules": [{"number": at, "quote": text, "also": [], "text": text} for at, text in enumerate(texts, 1) if text]
    }


def proposals(*entries):
    """Give what the analyst says of each entry: its sentence and rule."""
    plain = {"tools": ["void_booking"], "challenge": 2, "reason": "it says\n more"}
    return {
        "entries": [{"number": at, "sentence": one, "rule": rule, **plain} for at, (one, rule) in enumerate(entries, 1)]
    }


ONCE = "{at_most: {calls: [void_booking], times: 1}}"


def test_a_model_proposes_for_review_and_is_asked_once(desk):
    """Rule, tools, challenge and sentence stand in the file; what did not hold is counted, nothing is asked again."""
    entries = proposals(("Void a booking once.", ONCE), ("Promise nothing.", "{never: {calls: [promise]}}"))

    lines, asked = played(desk, rules("Void a booking once.", "", "Promise nothing."), entries, entries)
    _, text, found = reviewed(desk)
    again, asked_again = played(desk)

    assert asked == 3
    assert list(found) == ["void-a-booking-once", "promise-nothing"]
    assert found["void-a-booking-once"]["rule"] == {"at_most": {"calls": ["void_booking"], "times": 1}}
    assert found["void-a-booking-once"]["source"] == "Void a booking once."
    assert found["promise-nothing"]["rule"] is None
    assert text.count("\n  # it says more\n") == 2
    assert "2 policies read by a model, 1 with a rule, 1 for a judge alone" in lines
    assert "1 part of proposals did not hold: dropped" in lines
    assert "promise-nothing, rule: the agent has no tool 'promise'" in lines
    assert (asked_again, reviewed(desk)[1]) == (0, text)
    assert "1 with a rule" in again


def test_only_what_changed_is_asked_about_and_people_s_entries_are_not(desk):
    """After an edit of the document the analyst sees the entry that is new; one that a person wrote is left alone."""
    first = proposals(("Void a booking once.", ONCE), ("Look with get_booking first.", ""))
    played(desk, rules("Void a booking once.", "Look with get_booking first."), first)
    path, text, _ = reviewed(desk)
    path.write_text(text.replace("challenge: 2", "challenge: 5", 1), encoding="utf-8")
    changed = DOCUMENT.replace("first.", "before.").replace("once.", "twice.")
    (desk.parent / "rules.md").write_text(changed, encoding="utf-8")

    found = rules("Void a booking twice.", "Look with get_booking before.")
    lines, asked = played(desk, found, proposals(("Look with get_booking before.", "")))

    assert asked == 2
    assert "rules.md changed: 0 new, 2 changed, 0 gone" in lines
    assert reviewed(desk)[2]["void-a-booking-once"]["challenge"] == 5
    assert reviewed(desk)[2]["look-with-get_booking-first"]["source"] == "Look with get_booking before."


@pytest.mark.parametrize(
    "text",
    [
        "# ours\n\n  - id: mine  # by hand\n    text: Be kind.\n",
        "# ours\n[]\n",
        "# ours\n- id: gone\n  text: Old.\n# about mine\n- id: mine\n  text: Be kind.\n",
    ],
    ids=["indented", "empty", "a comment above"],
)
def test_lines_of_a_person_stay_however_they_are_laid_out(tmp_path, text):
    """Heads, comments above entries and indented lists are kept; new entries are laid out like them."""
    file = tmp_path / "policies.yaml"
    file.write_text(text, encoding="utf-8")
    old = ExtractedPolicy(id="gone", text="Old.")

    review(file, [old], [ExtractedPolicy(id="new", text="Be quick.")])

    now = file.read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if "gone" not in line and "Old" not in line and line != "[]"] == [
        line for line in now.splitlines() if line in text.splitlines() and line != "[]"
    ]
    assert [form["id"] for form in read_forms(file)] == [*(["mine"] if "mine" in text else []), "new"]
