"""What is written down as the truth about the weather service is true, and its answers diverge nowhere else."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from tests.tables import each

ROOT = Path(__file__).parents[2]
TRUTH = json.loads((ROOT / "tests/generation/truth/weather_divergences.json").read_text(encoding="utf-8"))
DOCUMENT = json.loads((ROOT / "example_project/weather/service/openapi.json").read_text(encoding="utf-8"))


def declared(tool: str) -> dict[str, Any]:
    """Give the operation that a document declares."""
    return next(one["get"] for one in DOCUMENT["paths"].values() if one["get"]["operationId"] == tool)


def violations(tool: str, answer: dict[str, Any]) -> set[str]:
    """Give where an answer is not as declared, as dotted paths with `*` for entries."""
    schema = declared(tool)["responses"]["200"]["content"]["application/json"]["schema"]
    whole = {**schema, "components": DOCUMENT["components"]}
    found = set()
    for error in jsonschema.Draft202012Validator(whole).iter_errors(answer):
        path = ["*" if isinstance(part, int) else part for part in error.absolute_path]
        missing = (
            [name for name in error.validator_value if name not in error.instance]
            if error.validator == "required"
            else []
        )
        found |= {".".join([*path, name]) for name in missing} or {".".join(path)}
    return found


@pytest.fixture
def service() -> SimpleNamespace:
    """The service: its operations, the places and departments it knows, and what it raises."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "example_project")
        answers = importlib.import_module("weather.service.answers")
        places = importlib.import_module("weather.service.places")
    return SimpleNamespace(
        operations=answers.Answers(answers.Settings()),
        refused=answers.RefusedError,
        communes=places.communes(),
        departments=places.departments(),
    )


def test_answers_keep_to_the_document_but_for_one_field(service: SimpleNamespace) -> None:
    """Every place, department and language: only what the truth says is missing is."""
    found: dict[str, set[str]] = {}
    for place in service.communes:
        where = {"lat": str(place.latitude), "lon": str(place.longitude)}
        for tool in ("forecast", "observation", *(["rain_nowcast"] if place.metropolitan else [])):
            found.setdefault(tool, set()).update(violations(tool, getattr(service.operations, tool)(where)))
        found.setdefault("search_places", set()).update(
            violations("search_places", service.operations.search_places({"q": place.name}))
        )
    for number in service.departments:
        for depth in ("0", "1"):
            found.setdefault("alerts", set()).update(
                violations("alerts", service.operations.alerts({"domain": number, "depth": depth}))
            )
        found.setdefault("bulletin", set()).update(
            violations("bulletin", service.operations.bulletin({"domain": number}))
        )
    found["warning_dictionary"] = violations("warning_dictionary", service.operations.warning_dictionary({}))

    told = {(one["tool"], one["parameter"]) for one in TRUTH["divergences"] if one["kind"] == "missing_field"}
    assert {(tool, path) for tool, paths in found.items() for path in paths} == told


def test_empty_successes(service: SimpleNamespace) -> None:
    """Each tool of which the truth says so, and none besides, answers {} where fields are required."""
    nowhere = {"lat": "90", "lon": "0", "q": "Atlantis", "domain": "75"}
    empty = set()
    for tool in ("search_places", "forecast", "observation", "rain_nowcast", "alerts", "bulletin"):
        try:
            if getattr(service.operations, tool)(nowhere) == {}:
                empty.add(tool)
        except service.refused:
            continue

    assert empty == {one["tool"] for one in TRUTH["divergences"] if one["kind"] == "empty_success"}


@each(("tool", "parameter", "kind"), [(one["tool"], one["parameter"], one["kind"]) for one in TRUTH["divergences"]])
def test_each_divergence_is_about_something_declared(tool: str, parameter: str, kind: str) -> None:
    """Arguments and fields exist in the document; what is called required there is optional by declaration."""
    names = {one["name"]: one for one in declared(tool)["parameters"]}
    fields = json.dumps(declared(tool)["responses"]["200"])

    assert parameter == "" or parameter in names or f'"{parameter.rpartition(".")[2]}"' in fields
    assert kind != "required" or names[parameter]["required"] is False


def test_arguments_without_an_effect(service: SimpleNamespace) -> None:
    """Languages that are declared and change nothing, and the ones that do."""
    where = {"lat": "48.86", "lon": "2.35"}
    ignored = set()
    for tool, rest in (
        ("observation", where),
        ("rain_nowcast", where),
        ("forecast", where),
        ("warning_dictionary", {}),
    ):
        values = next(one for one in declared(tool)["parameters"] if one["name"] == "lang")["schema"]["enum"]
        found = [json.dumps(getattr(service.operations, tool)({**rest, "lang": value})) for value in values]
        if len(set(found)) < len(values):
            ignored.add(tool)

    assert ignored == {one["tool"] for one in TRUTH["divergences"] if one["kind"] == "no_effect"}
