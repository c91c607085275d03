"""The base of every model: frozen, keyword-only, unknown keys refused."""

from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

T = TypeVar("T")


class Model(BaseModel):
    """A frozen value that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True)


_UNBUILT = "agentbench_model"
"""The key of a core schema's metadata for the model whose own is not built yet."""


class LateModel(Model):
    """A model of which, below a key of another, nothing is built until a value is there: few of all keys are used.

    What may hold itself is `built_at_once`.
    """

    built_at_once: ClassVar[bool] = False

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Leave what validates the model unbuilt below a key."""
        if handler.field_name is None or cls.built_at_once:
            return handler(source)
        return core_schema.with_info_plain_validator_function(
            lambda value, info: cls.__pydantic_validator__.validate_python(value, context=info.context),
            metadata={_UNBUILT: cls},
        )


class SchemaGenerator(GenerateJsonSchema):
    """Makes the JSON Schema of models that hold late ones."""

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        """Describe a late model as if it had been built where it stands."""
        if model := schema.get("metadata", {}).get(_UNBUILT):
            model.model_rebuild()
            schema = model.__pydantic_core_schema__
        return super().generate_inner(schema)

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Give a late model no title but its own, as any model."""
        return _UNBUILT not in schema.get("metadata", {}) and super().field_title_should_be_set(schema)


class OpenModel(BaseModel):
    """A frozen value that keeps unknown keys, for formats that others own (τ²-bench)."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)


_PLAIN = frozenset({str, int, float, bool, type(None), dict, list})

GivenFields = dict[frozenset[str], set[str]]
"""Sets of names of given fields, each once: as many as there are ways to fill a model."""


def lean(value: T, shared: GivenFields) -> T:
    """Have a model that is kept, and those in it, share the set of its given fields with others of the same owner.

    It is a third of what a small model takes. Nobody changes it: models are frozen, and a copy has a set of its own.
    """
    if isinstance(value, BaseModel):
        given = value.__pydantic_fields_set__
        object.__setattr__(value, "__pydantic_fields_set__", shared.setdefault(frozenset(given), given))
    parts = vars(value).values() if isinstance(value, BaseModel) else value if isinstance(value, tuple) else ()
    for part in parts:
        if type(part) not in _PLAIN:
            lean(part, shared)
    return value
