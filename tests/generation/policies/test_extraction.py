"""Policies are found in documents by their structure, with places, and under ids that survive edits."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.policy_extraction import score, told
from pytest_agentbench.generation.policies.extraction.extraction import PolicyDocument, StructureExtractor, extract
from pytest_agentbench.generation.policies.values import Extraction
from tests.shared_data import SHARED, needs_shared

HERE = Path(__file__).parent
DEVELOPED = {path.stem for path in (HERE / "documents").iterdir()}
OTHERS = [path for path in sorted((HERE / "labels").glob("*.json")) if path.stem not in DEVELOPED]
FIRST_SCORED = {"airline": (0.92, 0.92), "retail": (0.66, 0.88), "telecom": (0.72, 0.96)}
ROOT = HERE.parents[2]
HELD_OUT = {
    "vet_policy_en": (0.78, 0.64),
    "piscine_policy_fr": (0.96, 0.96),
    "allotments_policy_en": (0.94, 0.94),
}
"""Precision and recall of documents that were written and labelled by somebody else, when they were scored once."""
HELD_OUT_LATER = {"theatre": (0.90, 0.90), "bulky-waste": (0.78, 0.71), "auto-ecole": (0.93, 0.71)}
"""The same of three more, in prose for the most part, scored once after the reading of prose was mended."""


def read(text, **fields):
    """Extract from a text."""
    return extract(PolicyDocument(text=text, **fields))


def texts(text):
    """Give the texts of the policies of a document."""
    return [policy.text for policy in read(text).policies]


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("library.md", 0.95),
        ("banque.md", 0.95),
        ("dispatch.txt", 0.95),
        ("clinic.md", 0.95),
        ("gite.md", 0.92),
        ("museum.md", 0.8),
    ],
)
def test_documents_that_it_was_developed_on(name, least):
    """Nearly all labelled rules of the development documents are found, and next to nothing else; fewer in prose."""
    found = score((HERE / "labels" / name).with_suffix(".json"), HERE / "documents" / name)
    print(told(f"development: {name}", found))

    assert found.precision >= least
    assert found.recall >= least


@needs_shared
@pytest.mark.parametrize("labels", OTHERS, ids=lambda path: path.stem)
def test_documents_of_others(labels):
    """No fewer rules are found, and no more that are none, than when the labels were scored for the first time.

    Two of the three were labelled by somebody who had not seen the code.
    """
    precision, recall = FIRST_SCORED[labels.stem]
    found = score(labels, SHARED / "data" / "tau2" / "domains" / labels.stem / "policy.md")
    print(told(f"not developed on: {labels.stem}", found))

    assert found.precision >= precision
    assert found.recall >= recall


@needs_shared
@pytest.mark.parametrize("labels", OTHERS, ids=lambda path: path.stem)
def test_what_a_language_model_found(labels):
    """The answers that were recorded, scored by the same labels: it cuts rules otherwise than the labellers did."""
    recorded = json.loads((HERE / "recorded" / "extractions_by_a_model.json").read_text())
    extraction = Extraction.model_validate(recorded[labels.stem])

    found = score(labels, SHARED / "data" / "tau2" / "domains" / labels.stem / "policy.md", extraction)

    print(told(f"by a language model: {labels.stem}", found))
    assert found.covered / found.labels >= 0.78
    assert found.inside / found.found >= 0.86


def held_out_labels(name, folder):
    """Write the labels of one of the documents that were held out, as the score reads them; give both files."""
    document = HERE / "held_out" / f"{name}.md"
    text = document.read_text(encoding="utf-8")
    documents = json.loads((HERE / "held_out" / "labels.json").read_text(encoding="utf-8"))["documents"]
    policies = next(one["policies"] for one in documents if one["document"] == document.name)
    labels = folder / "labels.json"
    quotes = [{"quotes": [text[one["start"] : one["end"]]]} for one in policies]
    labels.write_text(json.dumps({"policies": quotes}), encoding="utf-8")
    return labels, document


@pytest.mark.parametrize("name", HELD_OUT)
def test_documents_that_were_held_out(name, tmp_path):
    """No less than when they were scored once; the prose one was mended on after that, the others were not."""
    recorded = json.loads((HERE / "recorded" / "held_out_by_a_model.json").read_text(encoding="utf-8"))
    labels, document = held_out_labels(name, tmp_path)

    twin = score(labels, document)
    model = score(labels, document, Extraction.model_validate(recorded[name]))

    print(told(f"held out: {name}", twin))
    print(told(f"held out, by a language model: {name}", model))
    assert (round(twin.precision, 2), round(twin.recall, 2)) >= HELD_OUT[name]
    assert model.covered == model.labels


@pytest.mark.parametrize("name", HELD_OUT_LATER)
def test_documents_that_were_held_out_later(name, tmp_path):
    """No less than when they were scored once."""
    folder = HERE / "held_out" / "second"
    policies = json.loads((folder / "labels.json").read_text(encoding="utf-8"))[f"{name}.md"]
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({"policies": [{"quotes": [one["quote"]]} for one in policies]}), encoding="utf-8")

    found = score(labels, folder / f"{name}.md")

    print(told(f"held out later: {name}", found))
    assert found.precision >= HELD_OUT_LATER[name][0]
    assert found.recall >= HELD_OUT_LATER[name][1]


def test_names_that_the_author_gave_are_kept():
    """Entries that end with a name in parentheses stay whole and have it as their id."""
    text = (ROOT / "example_project" / "support" / "policies.md").read_text(encoding="utf-8")

    found = read(text)

    named = [policy for policy in found.policies if f"({policy.id})" in text]
    assert len(named) == 25
    assert len(found.policies) <= 26
    assert {flow.title for flow in found.flows} > {"Identity", "Confirmation", "Conduct"}


def test_spans_lead_back_to_the_document():
    """Every span holds the words of its policy, and its lines are those of the document."""
    text = (HERE / "documents" / "library.md").read_text(encoding="utf-8")

    for policy in read(text).policies:
        for span in policy.spans:
            piece = text[span.start : span.end]
            assert piece.strip()
            assert text.count("\n", 0, span.start) + 1 == span.line
            assert text.count("\n", 0, span.end - 1) + 1 == span.last_line
        assert policy.text.split()[-1].strip(".,;") in text


def test_conditions_stay_with_their_rule_and_entries_finish_their_sentence():
    """A list of conditions is one rule; a list below `you must not:` is one rule for each entry."""
    text = (
        "Cancel only if:\n- it is pending\n- it was paid by card\n\nYou must not:\n- share passwords\n- guess prices\n"
    )

    assert texts(text) == [
        "Cancel only if: it is pending; it was paid by card",
        "You must not share passwords",
        "You must not guess prices",
    ]


def test_what_several_flows_state_is_one_policy():
    """A rule that stands under two headings is one policy with both flows and both places."""
    text = "# Desk\n\n## Booking\n\nAsk for the user id first.\n\n## Cancelling\n\n- Ask for the user id first!\n"

    (policy,) = read(text).policies

    assert policy.flows == ("booking", "cancelling")
    assert [span.line for span in policy.spans] == [5, 9]


def test_a_french_table_and_negations_are_read():
    """Rows of a table of conditions and French negations are rules; descriptions are none."""
    table = "| Condition | Action |\n|---|---|\n| retard | avoir |\n"
    text = f"Le compte a un nom.\n\nNe promettez jamais un délai.\n\n{table}"

    found = read(text)

    assert [policy.text for policy in found.policies] == [
        "Ne promettez jamais un délai.",
        "Condition: retard; Action: avoir",
    ]
    assert found.policies[0].strength == "must_not"
    assert [one.reason for one in found.left_out] == ["describes and asks nothing"]


def test_ids_survive_edits_elsewhere_and_small_edits():
    """Other rules, another order, another number or modal verb change no id; with the last extraction, no edit does."""
    before = "- Refunds go to the card within 5 days.\n- Never share a password.\n- Ask for the order number.\n"
    after = (
        "- Be kind to everyone.\n- Never share a password!\n- Ask for the order number.\n"
        "- Refunds must go to the card within 7 days.\n"
    )
    reworded = "- Never share a PIN or a password.\n"

    old, new = read(before), read(after)
    carried = read(reworded, previous=old)

    assert {policy.id for policy in old.policies} <= {policy.id for policy in new.policies}
    assert carried.policies[0].id == old.policies[1].id != read(reworded).policies[0].id


def test_equal_beginnings_have_ids_of_their_own():
    """Rules that share their first words get longer ids, never a clash."""
    found = read("- Ask for the order number by mail.\n- Ask for the order number by phone.\n")

    ids = [policy.id for policy in found.policies]
    assert len(set(ids)) == 2
    assert ids == ["ask-order-number-mail", "ask-order-number-phone"]


def test_challenge_grows_with_what_a_rule_asks():
    """A plain act is easier than one with conditions, exceptions, sums and an order."""
    conditions = "If the order is late, refund the lowest of fee and 10 euros before closing, unless it was a gift"
    (easy,) = read("Greet the user.").policies
    (hard,) = read(f"{conditions}, or the user had one within 30 days; else never.").policies

    assert easy.challenge == 1
    assert hard.challenge == 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\n",
        "# Title\n",
        "Nothing to see here",
        "```\nYou must not.\n```\n",
        "|||\n|-|\n",
        "- \n- \n",
        "<a>\n</a>",
    ],
)
def test_odd_documents_have_no_policies(text):
    """Documents without a rule give none, without a crash."""
    assert read(text).policies == ()


def test_a_document_without_headings_or_bullets_has_one_flow():
    """Plain lines are read too: each line that was not wrapped is a sentence."""
    found = read("Never lie\nAsk for a name\nTell the price only if asked\n")

    assert len(found.policies) == 3
    assert [flow.id for flow in found.flows] == ["general"]


@settings(max_examples=80, deadline=None)
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


async def test_the_role_gives_what_the_function_does():
    """The role of extraction without a model is the function."""
    document = PolicyDocument(name="desk.md", text="Never lie.")

    assert await StructureExtractor()(document) == extract(document)
