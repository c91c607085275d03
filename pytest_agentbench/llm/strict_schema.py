"""JSON Schemas of pydantic models, made to fit what servers enforce strictly."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

# what strict modes refuse, or ignore; pydantic checks all of it when the answer is read
_DROPPED = frozenset(
    {
        *("default", "examples", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "discriminator"),
        *("minProperties", "maxProperties"),
    }
)
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})


@lru_cache(maxsize=128)  # a type's schema takes pydantic longer than a conversation takes us
def schema_of(answer: type[BaseModel]) -> tuple[dict[str, Any], bool]:
    """Give the JSON Schema of `answer`, which is not to be changed, and whether a server can enforce it strictly.

    Every object refuses further properties and requires all of its own. Free-form objects, tuples and untyped values
    cannot be enforced; the schema then still describes the answer.
    """
    whole = answer.model_json_schema()
    definitions: dict[str, Any] = whole.pop("$defs", {})
    if "$ref" in whole:  # a type that contains itself
        whole = {**definitions[_name(whole["$ref"])]}
    fitter = _Fitter(definitions)
    schema = fitter.fit(whole)
    if definitions:
        schema["$defs"] = {name: fitter.fit(item) for name, item in definitions.items()}
    return schema, fitter.enforceable and schema.get("type") == "object"


class _Fitter:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self.enforceable = True

    def fit(self, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, dict):  # `true`: any value
            self.enforceable = False
            return {}
        if "$ref" in schema:
            return self._fit_reference(schema)
        parts = schema.get("allOf")
        if isinstance(parts, list) and len(parts) == 1:
            rest = {key: value for key, value in schema.items() if key != "allOf"}
            return self.fit({**parts[0], **rest})
        fitted = {key: value for key, value in schema.items() if key not in _DROPPED}
        if fitted.get("format") not in _FORMATS:
            fitted.pop("format", None)
        choices = fitted.pop("oneOf", None) or fitted.pop("anyOf", None)
        if choices is not None:
            fitted["anyOf"] = [self.fit(choice) for choice in choices]
        if "items" in fitted:
            fitted["items"] = self.fit(fitted["items"])
        if "properties" in fitted or fitted.get("type") == "object":
            return self._fit_object(fitted)
        if "prefixItems" in fitted or not {"type", "anyOf", "enum", "const"} & fitted.keys():
            self.enforceable = False
        return fitted

    def _fit_reference(self, schema: dict[str, Any]) -> dict[str, Any]:
        rest = {key: value for key, value in schema.items() if key != "$ref" and key not in _DROPPED}
        if not rest:
            return {"$ref": schema["$ref"]}
        # strict modes refuse a reference with anything beside it
        target = self._definitions.get(_name(schema["$ref"]), {})
        if schema["$ref"] in str(target):
            return {"$ref": schema["$ref"]}
        return self.fit({**target, **rest})

    def _fit_object(self, schema: dict[str, Any]) -> dict[str, Any]:
        properties = schema.get("properties", {})
        further = schema.get("additionalProperties", not properties)
        if isinstance(further, dict) or (further is not False and not properties):
            self.enforceable = False
            return schema
        fitted = {name: self.fit(item) for name, item in properties.items()}
        return {**schema, "properties": fitted, "required": list(fitted), "additionalProperties": False}


def _name(reference: str) -> str:
    return reference.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
