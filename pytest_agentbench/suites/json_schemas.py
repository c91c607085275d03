"""The shipped JSON Schemas of suite and scenario files, made from the models that read these files."""

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from pytest_agentbench.core.base import SchemaGenerator
from pytest_agentbench.core.file_models import Written
from pytest_agentbench.spec.rule import RuleForm
from pytest_agentbench.spec.scenario import ScenarioFile
from pytest_agentbench.spec.suite import SuiteFile

KINDS = ("suite", "scenario")

_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum"}
"""The words of JSON Schema for bounds of numbers that are checked before pydantic sees them."""

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


@cache
def file_schema(kind: str) -> dict[str, Any]:
    """Give the JSON Schema of `suite` or `scenario` files."""
    if kind == "suite":
        found = SuiteFile.model_json_schema(schema_generator=_Generator)
    else:
        found = TypeAdapter(ScenarioFile).json_schema(schema_generator=_Generator)
    found = _plain(found)
    definitions = found.pop("$defs", {})
    if kind == "suite":
        definitions |= _plain(TypeAdapter(RuleForm).json_schema(schema_generator=_Generator))["$defs"]
        found["anyOf"] = [{"required": found.pop("required")}, {"required": ["extends"]}]
    return {
        "$schema": _DRAFT,
        "title": f"pytest-agentbench {kind}",
        **found,
        "$defs": dict(sorted(definitions.items())),
    }


class _Generator(SchemaGenerator):
    """Gives unions whose branches may overlap, as JSON sees them, and the docstrings of fields."""

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """Give a union by whatever fits: which branch is meant only matters for messages."""
        return {"anyOf": [self.generate_inner(one) for one in schema["choices"].values()]}

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Describe each key by the docstring of its field, and the model by what it is expected to be."""
        found = super().model_schema(schema)
        model = schema["cls"]
        if issubclass(model, Written):
            found["description"] = model.expected
            for key, name in model.keys().items():
                if told := field_docstrings(model).get(name):
                    found["properties"][key] = {**found["properties"][key], "description": told}
        return found


def _plain(value: Any) -> Any:
    """Leave out titles, which say no more than keys, and put in the references that pydantic does not know."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "x-definition" in value:
        return {"$ref": f"#/$defs/{value['x-definition']}"}
    found = {
        _BOUNDS.get(key, key): _plain(one) for key, one in value.items() if key != "title" or not isinstance(one, str)
    }
    if "patternProperties" in found and "propertyNames" in found:
        del found["propertyNames"]
        found["additionalProperties"] = False
    return found


@cache
def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Give the docstrings of a model's fields, those of its bases included, each on one line."""
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if issubclass(one, BaseModel) and one.__module__.startswith("pytest_agentbench"):
            found |= _own_docstrings(one)
    return found


def _own_docstrings(model: type[BaseModel]) -> dict[str, str]:
    definition = _classes(model.__module__).get(model.__qualname__)
    body = definition.body if definition else []  # else made at run time
    found = {}
    for field, told in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and _is_text(told):
            found[field.target.id] = " ".join(told.value.value.split())  # type: ignore[attr-defined]  # seen to be one
    return found


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """Give the classes of a module by their names: `inspect` would read the whole file anew for each."""
    body = ast.parse(inspect.getsource(sys.modules[module])).body
    return {one.name: one for one in body if isinstance(one, ast.ClassDef)}


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
