"""The text that a caller sees of a tool's result or error."""

import builtins
from collections.abc import Mapping

from pytest_agentbench.core.codec import dumps

_PLAIN = (Exception, ValueError, RuntimeError)
"""Builtin exceptions whose message stands for itself; others (`KeyError: 'W9'`) need their name."""


def render_result(value: object) -> str:
    """Give a string as it is and anything else as JSON text: None is `null`, database rows are objects."""
    return str.__str__(value) if isinstance(value, str) else dumps(_unpacked(value))


def render_error(error: BaseException) -> str:
    """Give `Error: …` with the message, led by the type's name where the message alone says little."""
    name = type(error).__name__
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - the exception is the user's, and so is its __str__
        message = ""
    if not message:
        return f"Error: {name}"
    named = type(error).__module__ == builtins.__name__ and type(error) not in _PLAIN
    return f"Error: {name}: {message}" if named else f"Error: {message}"


def _unpacked(value: object) -> object:
    """Turn rows of database drivers (keys and items, but no Mapping: `sqlite3.Row`) into dicts, at any depth."""
    if isinstance(value, Mapping):
        return {key: _unpacked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_unpacked(item) for item in value]
    keys = getattr(value, "keys", None)
    if callable(keys) and not isinstance(value, type) and hasattr(type(value), "__getitem__"):
        return {str(key): _unpacked(value[key]) for key in keys()}  # type: ignore[index]  # __getitem__ was seen
    return value
