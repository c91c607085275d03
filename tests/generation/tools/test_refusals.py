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
