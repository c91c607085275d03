"""The base of every model: frozen, keyword-only, unknown keys refused."""

from typing import TypeVar

from pydantic import BaseModel, ConfigDict

T = TypeVar("T")


class Model(BaseModel):
    """A frozen value that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True)


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
