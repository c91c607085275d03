"""The one JSON codec of run data: ASCII text that keeps lone surrogates and non-finite numbers."""

import hashlib
import json
import math

from pytest_agentbench.core.json_values import JsonValue, to_json

_NUMBER = "$number"

_COMPACT = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
_SORTED = json.JSONEncoder(ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))


def dumps(value: object, *, indent: int | None = None) -> str:
    """Encode `value` as ASCII JSON; NaN and infinities become `{"$number": "nan"}`."""
    encoder = _COMPACT if indent is None else json.JSONEncoder(ensure_ascii=True, allow_nan=False, indent=indent)
    return _encoded(encoder, to_json(value))


def _encoded(encoder: json.JSONEncoder, plain: JsonValue) -> str:
    try:  # hardly anything holds such a number, and looking for one takes longer than writing
        return encoder.encode(plain)
    except ValueError:
        return encoder.encode(_tag(plain))


def loads(text: str) -> JsonValue:
    """Decode what `dumps` wrote; raise `ValueError` on anything that is not JSON, or nested deeper than can be read."""
    try:
        found: JsonValue = json.loads(text, object_hook=_untag)
    except RecursionError:
        raise json.JSONDecodeError("it is nested too deeply", text, 0) from None
    return found


def digest(value: object) -> str:
    """Give the first 16 hex digits of the SHA-256 over the key-sorted JSON of `value`."""
    return hashlib.sha256(_encoded(_SORTED, to_json(value)).encode()).hexdigest()[:16]


def _tag(value: JsonValue) -> JsonValue:
    if isinstance(value, float) and not math.isfinite(value):
        return {_NUMBER: repr(value)}
    if isinstance(value, dict):
        return {key: _tag(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_tag(item) for item in value]
    return value


def _untag(item: dict[str, JsonValue]) -> JsonValue:
    if item.keys() == {_NUMBER} and (number := item[_NUMBER]) in ("nan", "inf", "-inf"):
        return float(number)
    return item
