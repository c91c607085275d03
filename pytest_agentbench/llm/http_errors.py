"""What an answer that is no completion means: whether to send again, when, what was said, which models there are."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from pytest_agentbench.core.errors import SendError
from pytest_agentbench.core.secret_keys import hide
from pytest_agentbench.core.text import printable, shorten
from pytest_agentbench.llm.wire import decode, excerpt, parsed

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
    value = parsed(content)
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


AGAIN = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which the same request may do better."""

_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


def understood(
    status: int, headers: Mapping[str, str], content: bytes, *, where: str, wall: float, secrets: Iterable[str]
) -> dict[str, Any]:
    """Give the JSON object of a good answer; raise `SendError`, with no secret in it, for any other.

    `headers` are looked up by lower-case name; `wall` is Unix time, for a `Retry-After` date without a `Date`.
    """
    try:
        if status != 200:
            raise status_error(status, headers, content, where=where, wall=wall)
        response = decode(content, where)
        if (failed := embedded_error(response, where=where)) is not None:
            raise failed
    except SendError as error:
        raise hidden(error, secrets) from error.__cause__
    return response


def status_error(status: int, headers: Mapping[str, str], content: bytes, *, where: str, wall: float) -> SendError:
    """Turn an answer with an error status into a `SendError` that quotes the server's own words."""
    said, code = _said(content)
    reason = f"{status} {_phrase(status)}".strip()
    if 300 <= status < 400:
        said = f"a redirect to {excerpt(headers.get('location', ''))}, which is not followed; set base_url to it"
    again = status >= 500 or status in AGAIN
    # an account without credit answers 429 like a rate limit, and waiting does not fill it
    if code in _SPENT or headers.get("x-should-retry", "").lower() == "false":
        again = False
    elif headers.get("x-should-retry", "").lower() == "true":
        again = True
    return SendError(
        f"{where} answered {reason}: {said}",
        status=status,
        again=again,
        retry_after=retry_after(headers, wall),
        param=refused_field(content),
        code=code,
    )


def embedded_error(response: dict[str, Any], *, where: str) -> SendError | None:
    """Find an error that a server sent with status 200 in place of choices."""
    error = response.get("error")
    if not error or response.get("choices"):
        return None
    said, code = _words(error)
    number = str(error.get("code")) if isinstance(error, dict) else ""
    status = int(number) if number.isdecimal() and number.isascii() and len(number) == 3 else 200
    again = code not in _SPENT and (status >= 500 or status in AGAIN)
    return SendError(
        f"{where} answered with an error: {said}",
        status=status,
        again=again,
        billed=status == 200,
        param=_refused(error),
        code=code,
    )


def refused_field(content: bytes) -> str:
    """Give the field of the request that an error names, "" where it names none, or several.

    >>> refused_field(b'{"error": {"message": "no", "param": "temperature", "code": "unsupported_value"}}')
    'temperature'
    >>> refused_field(b'{"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "no"}]}')
    'seed'
    >>> refused_field(b'{"error": {"details": [{"fieldViolations": [{"field": "max_tokens"}]}]}}')
    'max_tokens'
    """
    return _refused(parsed(content))


def _refused(error: object) -> str:
    named = {field for field in _fields(error, depth=0) if field}
    return named.pop() if len(named) == 1 else ""


def _fields(value: object, depth: int) -> Iterator[str]:
    """Give what each part of an error names: `param`, a validation error's `loc`, a field violation."""
    if depth > 6:
        return
    if isinstance(value, list):
        for item in value[:50]:
            yield from _fields(item, depth + 1)
    elif isinstance(value, dict):
        for name in ("param", "field"):
            if isinstance(found := value.get(name), str):
                yield found.split(".")[0].split("[")[0]
        place = value.get("loc")
        if isinstance(place, list):
            yield next((part for part in place if isinstance(part, str) and part != "body"), "")
        for name, item in value.items():
            if isinstance(item, dict | list):
                yield from _fields(item, depth + 1)
            elif name == "raw" and isinstance(item, str):  # what a gateway was answered itself
                yield from _fields(parsed(item), depth + 1)


def retry_after(headers: Mapping[str, str], wall: float) -> float | None:
    """Read `retry-after-ms`, else `Retry-After` in seconds or as a date; None where there is neither, never below 0."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if (seconds := _number(value)) is not None:
        return seconds
    due = _date(value)
    if due is None:
        return None
    sent = _date(headers.get("date"))
    # the server's own clock, where it tells it: ours may be wrong
    return max(due - (wall if sent is None else sent), 0.0)


def hidden(error: SendError, secrets: Iterable[str]) -> SendError:
    """Take every secret out of an error's text."""
    error.args = (hide(str(error), secrets),)
    return error


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def _date(value: str | None) -> float | None:
    try:
        return parsedate_to_datetime(value or "").timestamp()
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _said(content: bytes) -> tuple[str, str]:
    value = parsed(content)
    for key in ("error", "detail", "message"):
        if isinstance(value, dict) and value.get(key):
            return _words(value[key])
    return excerpt(content, 300), ""


def _words(error: object) -> tuple[str, str]:
    """Give the text and the code (`""` where there is none) of an error in one of the forms in use."""
    if not isinstance(error, dict):
        return excerpt(error if isinstance(error, str) else json.dumps(error), 300), ""
    text = error.get("message")
    said = excerpt(text if isinstance(text, str) and text else json.dumps(error), 300)
    codes = [str(code) for code in (error.get("code"), error.get("type")) if code]
    # some servers repeat the status as `code` and put the word into `type`
    return said, next((code for code in codes if not code.isdecimal()), codes[0] if codes else "")
