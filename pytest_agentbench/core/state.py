"""State: what the environment holds, as nested JSON, and where two states differ."""

from typing import Any

from pytest_agentbench.core.base import Model

State = dict[str, Any]
"""Nested JSON; a database is {table: {primary key: {column: value}}}."""


class Difference(Model):
    """One place where the final state is not the expected one; `missing` and `extra` mark absent sides."""

    path: tuple[str, ...]
    expected: Any = None
    actual: Any = None
    missing: bool = False
    extra: bool = False
