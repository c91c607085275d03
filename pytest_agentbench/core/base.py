"""The base of every model: frozen, keyword-only, unknown keys refused."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """A frozen value that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True)


class OpenModel(BaseModel):
    """A frozen value that keeps unknown keys, for formats that others own (τ²-bench)."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)
