"""Entries are found in documents by their structure, with places, and under ids that survive edits."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.policy_extraction import Labels, score
from pytest_agentbench.generation.policies.extraction import PolicyDocument, blocks, extract
from tests.growth import growth
from tests.tables import each

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LABELLED = [path for path in sorted((HERE / "documents").glob("*.yaml")) if Labels.read(path).document.is_file()]
LISTED = {"piscine_policy_fr": (0.86, 1.0), "theatre": (0.78, 0.9)}
"""Precision and recall of documents that are lists for the most part."""


def read(text, **fields):
    """Extract from a text."""
    return extract(PolicyDocument(text=text, **fields))


def texts(text):
    """Give the texts of the policies of a document."""
    return [policy.text for policy in read(text).policies]


@each("file", LABELLED, ids=lambda path: path.stem)
def test_nothing_that_is_labelled_lies_outside_of_an_entry(file):
    """Whatever a document is like, hardly a rule of it is in no entry; how prose is cut is a model's to tell."""
    found = score(Labels.read(file))
    print("\n".join(found.lines(file.stem)[:3]))

    assert found.covered >= 0.95 * found.labels
    precision, recall = LISTED.get(file.stem, (0, 0))
    assert found.precision >= precision
    assert found.recall >= recall


def test_items_rows_and_paragraphs_are_entries_under_their_headings():
    """An item has what leads to its list, a row the names of its columns; the category is the last heading."""
    found = read(
        "# Desk\n\nGreet everybody.\n\n## Claims\n\nYou must not:\n\n- share passwords\n- guess:\n  1. prices\n"
        "  2. dates\n\n"
        "| Case | Do |\n|---|---|\n| late | say *sorry* |\n\n> Quoted.\n"
    )

    assert [(one.text, one.category, one.under) for one in found.policies] == [
        ("Greet everybody.", "Desk", ("Desk",)),
        ("You must not: share passwords", "Claims", ("Desk", "Claims")),
        ("You must not: guess: prices", "Claims", ("Desk", "Claims")),
        ("You must not: guess: dates", "Claims", ("Desk", "Claims")),
        ("Case: late; Do: say sorry", "Claims", ("Desk", "Claims")),
        ("Quoted.", "Claims", ("Desk", "Claims")),
    ]
    assert [one.reason for one in found.left_out] == ["leads to a list"] * 2
    assert all(one.challenge is None and one.rule is None for one in found.policies)


def test_a_tag_on_its_own_line_is_a_heading_and_swallows_nothing():
    """System prompts part themselves by tags."""
    text = "<refund_rules>\nRefund once.\n</refund_rules>\n\nBe kind.\n"

    assert [(one.text, [name for _, name in one.headings]) for one in blocks(text)] == [
        ("Refund once.", ["refund rules"]),
        ("Be kind.", []),
    ]


def test_a_tag_ends_on_its_line():
    """What is no tag hides no rule below it."""
    text = "<note\n\nRefund once.\n\nBe kind.\n\n>\n\nBe quick.\n"

    assert [one for one in texts(text) if one.startswith(("Refund", "Be"))] == ["Refund once.", "Be kind.", "Be quick."]


def test_comments_without_an_end_are_read_in_one_pass():
    """Time grows with the document, not with its square; a comment that ends is passed over before them."""

    def read_comments(count):
        return blocks("Be quick. <!-- Be rude. -->\n\n" + "<!-- " * count)

    assert "rude" not in read_comments(10)[0].text
    assert growth(read_comments, 4_000) < 10


@pytest.mark.slow
def test_many_tags_and_rows_are_read_in_one_pass():
    """Time grows with the document, not with its square."""

    def read_many(count):
        tags = "".join(f"<part-{at}>\nDo it {at}.\n\n" for at in range(count))
        rows = "| Case | Do |\n|---|---|\n" + "".join(f"| {at} | wait |\n" for at in range(count))
        return blocks(f"{tags}\n{rows}")

    assert len(read_many(100)) == 200
    assert growth(read_many, 2_000) < 8


def test_names_that_the_author_gave_are_kept():
    """Entries that end with a name in parentheses have it as their id."""
    text = (ROOT / "example_project" / "support" / "policies.md").read_text(encoding="utf-8")

    found = read(text)

    named = [policy for policy in found.policies if f"({policy.id})" in text]
    assert len(named) == 25
    assert {flow.title for flow in found.flows} > {"Identity", "Confirmation", "Conduct"}
    assert texts("- Take back goods (non-refundable).\n- Be kind.\n- Be quick (as-ever)\n")[2] == "Be quick (as-ever)"


@each("file", LABELLED, ids=lambda path: path.stem)
def test_spans_lead_back_to_the_document(file):
    """Every span holds the words of its policy, and its lines are those of the document."""
    document = Labels.read(file).document
    text = document.read_text(encoding="utf-8")

    for policy in read(text).policies:
        for span in policy.spans:
            piece = text[span.start : span.end]
            assert piece.strip()
            assert text.count("\n", 0, span.start) + 1 == span.line
            assert text.count("\n", 0, span.end - 1) + 1 == span.last_line
            assert policy.text.split()[-1].strip(".,;*`:") in piece


def test_what_several_flows_state_is_one_policy():
    """A rule that stands under two headings is one policy with both flows and both places."""
    text = "# Desk\n\n## Booking\n\nAsk for the user id first.\n\n## Cancelling\n\n- Ask for the user id first!\n"

    (policy,) = read(text).policies

    assert policy.flows == ("booking", "cancelling")
    assert [span.line for span in policy.spans] == [5, 9]


def test_ids_survive_edits_elsewhere_and_small_edits():
    """Other rules, another order and another number change no id; with the last extraction, no edit does."""
    before = "- Refunds go to the card within 5 days.\n- Never share a password.\n- Ask for the order number.\n"
    after = (
        "- Be kind.\n- Never share a password!\n- Ask for the order number.\n- Refunds go to the card within 7 days.\n"
    )
    reworded = "- Never share a PIN or a password.\n"

    old, new = read(before), read(after)
    carried = read(reworded, previous=old)

    assert {policy.id for policy in old.policies} <= {policy.id for policy in new.policies}
    assert carried.policies[0].id == old.policies[1].id
    assert read(reworded).policies[0].id != old.policies[1].id


@each(
    ("first", "second"),
    [
        ("Ask for the order number by mail.", "Ask for the order number by phone."),
        ("返金は30日以内です。", "返金はできません。"),
        ("12", "13"),
    ],
)
def test_equal_beginnings_have_ids_of_their_own(first, second):
    """Rules that share their first words get longer ids, others a number or a digest; never a clash."""
    ids = [policy.id for policy in read(f"- {first}\n- {second}\n").policies]

    assert len(set(ids)) == 2
    assert all(one.isascii() and one for one in ids)


@each("text", ["", " \n\n", "# Title\n", "```\nYou must not.\n```\n", "|||\n|-|\n", "- \n- \n"])
def test_odd_documents_have_no_policies(text):
    """Documents without an entry give none, without a crash."""
    assert read(text).policies == ()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["# A", "## B", "- must go", "  - never do", "1. if x:", "text", "", "|a|b|", "|-|-|", "|c|d|", "<t>",
             "</t>", "> q", "```", "**B**", "===", "---", "You must:", "\ud800", "é\u2028x", "a) only if", "\t- tab"]
        )
        | st.text(max_size=20),
        max_size=14,
    )
)  # fmt: skip
def test_no_document_crashes_it(lines):
    """Whatever the lines, policies have texts, distinct ids and spans inside the document."""
    text = "\n".join(lines)

    found = read(text)

    assert len({policy.id for policy in found.policies}) == len(found.policies)
    assert all(0 <= span.start < span.end <= len(text) for policy in found.policies for span in policy.spans)
    assert found == read(text)
