"""The shipped JSON Schemas: in step with the reader, and valid themselves."""

import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import pytest_agentbench.suites as floor
from pytest_agentbench.core.file_models import form_misfits
from pytest_agentbench.spec.loading import read_document
from pytest_agentbench.spec.rule import RuleForm
from pytest_agentbench.spec.scenario import ScenarioFile
from pytest_agentbench.spec.suite import SuiteFile
from pytest_agentbench.suites.json_schemas import KINDS, file_schema
from tests.suites.forms import SCENARIO, SUITE
from tests.suites.test_malformed import mutated
from tests.tables import each

EXAMPLES = Path(__file__).resolve().parents[2]
FORMS = {"suite": SUITE, "scenario": SCENARIO}
MODELS: dict[str, Any] = {"suite": SuiteFile, "scenario": ScenarioFile}


@each("kind", KINDS)
def test_the_shipped_file_is_the_schema_the_reader_uses(kind: str) -> None:
    """What `agentbench schema` prints, but for `$id`, is the file in the package."""
    shipped = Path(str(floor.__file__)).parent / "schema" / f"{kind}.schema.json"
    assert json.loads(shipped.read_text(encoding="utf-8")) == file_schema(kind)


@each("kind", KINDS)
def test_schemas_are_valid_schemas(kind: str) -> None:
    """Both schemas fit the JSON Schema draft that they name."""
    jsonschema.Draft202012Validator.check_schema(file_schema(kind))


def test_what_a_suite_extends_may_give_its_agent() -> None:
    """An editor asks for agent and scenarios only where no other file may have them."""
    validator = jsonschema.Draft202012Validator(file_schema("suite"))
    forms: tuple[dict[str, Any], ...] = ({"extends": "../base.yaml"}, {"agent": "a:b"})

    assert [validator.is_valid(form) for form in forms] == [True, False]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_reader_and_json_schema_agree(kind: str, data: st.DataObject) -> None:
    """What our own check of the form refuses, a JSON Schema validator refuses, and the other way round."""
    form = data.draw(mutated(FORMS[kind]))
    assume(not _numbers_like_no_other(form))
    valid = jsonschema.Draft202012Validator(file_schema(kind)).is_valid(form)
    assert valid == (not form_misfits(form, MODELS[kind]) and not _wrong_rules(form))


def _wrong_rules(form: Any) -> bool:
    """Whether a policy has a rule that is not of the form that the rules describe."""
    policies = form.get("policies") if isinstance(form, dict) else None
    rules = [one.get("rule") for one in policies if isinstance(one, dict)] if isinstance(policies, list) else []
    return any(form_misfits(one, RuleForm) for one in rules if one is not None)


def _numbers_like_no_other(value: Any) -> bool:
    """Whether there are numbers that JSON has not, so that validators let them pass, or takes for whole ones (1.0)."""
    if isinstance(value, dict):
        return any(map(_numbers_like_no_other, value.values()))
    if isinstance(value, list):
        return any(map(_numbers_like_no_other, value))
    return isinstance(value, float) and (not math.isfinite(value) or value.is_integer())


def _example_files() -> list[Path]:
    folders = (EXAMPLES / "example_project", EXAMPLES / "docs")
    return sorted(file for folder in folders for file in folder.rglob("*agentbench.yaml"))


def test_example_suites_fit_the_schema() -> None:
    """Every suite that the project ships fits the schema that editors get."""
    validator = jsonschema.Draft202012Validator(file_schema("suite"))
    for file in _example_files():
        validator.validate(read_document(file).value)
