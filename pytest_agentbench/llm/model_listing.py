"""The models that a server lists, named in the error where it does not know the one that was asked for."""

import json
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from pytest_agentbench.core.errors import SendError
from pytest_agentbench.core.secret_keys import hide
from pytest_agentbench.core.text import printable, shorten

LISTING = 5.0
"""Seconds that a server may take to list its models: the error that they are for does not wait longer."""

_READ = 1_000
"""Models that are looked at: gateways list hundreds."""

_SHOWN = 8
_LONGEST = 80
"""Characters of a name."""


def is_unknown_model(error: SendError) -> bool:
    """Whether a server may not know the model."""
    return error.status == 404 or error.code == "model_not_found"


def listed(content: bytes, secrets: Iterable[str]) -> tuple[str, ...]:
    """Read the names in the answer to `GET /models`, safe to print; () where there are none to read.

    >>> listed(b'{"object": "list", "data": [{"id": "small-1"}, {"id": "large-1"}]}', ())
    ('small-1', 'large-1')
    """
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return ()
    found = (value.get("data") or value.get("models")) if isinstance(value, dict) else value
    listing = found[:_READ] if isinstance(found, list) else []
    names = [one.get("id") or one.get("name") for one in listing if isinstance(one, dict)]
    texts = (name for name in names if isinstance(name, str))
    return tuple(shorten(printable(hide(name, secrets)), _LONGEST) for name in dict.fromkeys(texts))


def named(error: SendError, asked: str, models: Sequence[str]) -> SendError:
    """Give the error with the models that the server has, those first whose names are most like the one asked for."""
    if not models or asked in models:
        return error
    nearest = sorted(models, key=lambda name: (-SequenceMatcher(None, asked, name).ratio(), name))
    more = f" and {len(models) - _SHOWN} more" if len(models) > _SHOWN else ""
    shown = ", ".join(repr(name) for name in nearest[:_SHOWN])
    noun = "model" if len(models) == 1 else "models"
    error.args = (f"{error} (the server lists the {noun} {shown}{more})",)
    return error
