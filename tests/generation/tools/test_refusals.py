"""What refusals teach, in the forms that servers send: who is to blame, and which values are named instead."""

from pathlib import Path

import pytest

from tests.generation.tools.probed import card, probed, written

FORMS = {
    "quoted": """raise ValueError(f"unknown zone '{zone}', use 'north' or 'south'")""",
    "listed": """raise ValueError(f"zone {zone} is not served (north, south)")""",
    "pydantic": """raise ValueError(
            "1 validation error for Call\\nzone\\n  Input should be 'north' or 'south' [type=literal_error]")""",
    "fastapi": """return \\
            {"detail": [{"loc": ["body", "zone"], "msg": "no", "ctx": {"expected": "'north' or 'south'"}}]}""",
    "zod": """return \\
            {"success": False, "error": [{"code": "invalid", "path": ["zone"], "options": ["north", "south"]}]}""",
    "ajv": """return \\
            {"errors": [{"instancePath": "/zone", "params": {"allowed": ["north", "south"]}, "message": "no"}]}""",
    "problem": """return \\
            {"title": "no", "status": 422, "errors": [{"pointer": "#/zone", "enum": ["north", "south"]}]}""",
}


@pytest.mark.parametrize("form", FORMS)
def test_values_that_a_refusal_names_are_tried(form: str, tmp_path: Path) -> None:
    """Whatever form the list of values comes in, the call that works is found by it."""
    tools = f"""
def ship(parcel: int, zone: str, *, state: dict) -> dict:
    "Ship a parcel."
    if zone not in ("north", "south"):
        {FORMS[form]}
    return {{"sent": f"S-{{parcel}}77"}}
"""

    cards = probed(written(tmp_path, tools, {"sent": []}, writes=["ship"]))

    assert card(cards, "ship").partial == ""


def test_an_optional_argument_that_a_refusal_names_is_added(tmp_path: Path) -> None:
    """What is declared as optional and asked for all the same is given, with a value that the refusal quotes."""
    tools = """
def ship(parcel: int, mode: str | None = None, *, state: dict) -> dict:
    "Ship a parcel."
    if mode is None:
        raise ValueError("'mode' is needed: 'air' or 'sea'")
    if mode not in ("air", "sea"):
        raise ValueError(f"no mode {mode}")
    return {"sent": 7}
"""

    cards = probed(written(tmp_path, tools, {"sent": []}, writes=["ship"]))

    assert any(probe.verdict == "ok" and probe.arguments["mode"] == "air" for probe in card(cards, "ship").probes)


CLAIMS = """
def open_claim(policy: str, happened_on: str, *, state: dict) -> dict:
    \"\"\"Open a claim.

    Args:
        policy: Policy number
        happened_on: Day of the loss, YYYY-MM-DD, at most 90 days ago
    \"\"\"
    if policy not in state["policies"]:
        raise LookupError(f"no policy {policy}")
    if happened_on < "2026-09-01":
        raise ValueError("The day of the loss is over 90 days ago, or before the policy began.")
    return {"claim": "C-104"}
"""

VISITS = """
def book_visit(claim: str, visit: str, *, state: dict) -> dict:
    "Book a visit."
    if claim in state["settled"]:
        raise ValueError(f"Claim {claim} is settled; no visit can be booked.")
    return {"day": "Monday"}
"""


@pytest.mark.parametrize(
    ("tools", "hints"),
    [
        (
            CLAIMS,
            {
                "policy": [f"HC-{number}" for number in range(20)],
                "happened_on": [f"2025-{month:02}-11" for month in range(1, 8)] + ["2026-10-11"],
            },
        ),
        (
            VISITS,
            {"claim": [f"C-{number}" for number in range(20, 28)], "visit": [f"V-{n}" for n in range(70)]},
        ),
    ],
    ids=["description", "value"],
)
def test_a_name_that_is_a_word_of_the_sentence_takes_no_blame(tools: str, hints: dict, tmp_path: Path) -> None:
    """What a refusal repeats of the call, and what shares most words with it, is to blame before a mere name."""
    state = {"policies": hints.get("policy", []), "settled": hints.get("claim", [])[:-1]}

    cards = probed(written(tmp_path, tools, state, writes=["open_claim", "book_visit"], hints=hints))

    assert cards.cards[0].partial == ""
