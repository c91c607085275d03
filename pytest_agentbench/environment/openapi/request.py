"""One call as an HTTP request: arguments put into path, query, headers, cookies and body."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.names import suggestion
from pytest_agentbench.environment.openapi.operations import Argument, Operation

_SEPARATORS = {"comma": ",", "space": " ", "pipe": "|"}


class UnfitArgumentsError(Exception):
    """Arguments that no request can be made of; the message tells the caller what is wrong."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request before it is authorised: `path` is escaped, `body` None where there is none."""

    method: str
    path: str
    query: list[tuple[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None


def request_of(operation: Operation, given: Mapping[str, Any]) -> Request:
    """Make the request of a call; raise `UnfitArgumentsError` for an unknown argument or a path without its parts.

    Nothing else is checked: what a service makes of a value that its document does not admit is the service's to say.
    """
    names = [argument.name for argument in operation.arguments]
    for name in given:
        if name not in names:
            hint = suggestion(name, names)
            takes = f"It takes: {', '.join(names) or 'no arguments'}"
            raise UnfitArgumentsError(f"unknown argument {name!r}{f' ({hint})' if hint else ''}. {takes}")
    sent = [(argument, given[argument.name]) for argument in operation.arguments if argument.name in given]
    path = operation.path
    for argument in operation.arguments:
        if argument.place == "path":
            path = _filled(path, argument, given)
    headers = {argument.key: _text(value, argument) for argument, value in sent if argument.place == "header"}
    body = _body(operation, sent)
    if body is not None:
        headers["Content-Type"] = operation.content.replace("multipart/form-data", "application/x-www-form-urlencoded")
    return Request(
        method=operation.method,
        path=path,
        query=[pair for argument, value in sent if argument.place == "query" for pair in _pairs(argument, value)],
        headers=headers,
        cookies={argument.key: _text(value, argument) for argument, value in sent if argument.place == "cookie"},
        body=body,
    )


def _filled(path: str, argument: Argument, given: Mapping[str, Any]) -> str:
    value = given.get(argument.name)
    if value is None or value == "":
        raise UnfitArgumentsError(f"the argument {argument.name!r} is missing: it is a part of the address {path!r}")
    text = quote(_text(value, argument), safe=",")
    if text in (".", ".."):  # would name another resource than the one asked for
        text = text.replace(".", "%2E")
    return path.replace(f"{{{argument.key}}}", text)


def _body(operation: Operation, sent: list[tuple[Argument, Any]]) -> bytes | None:
    whole = [value for argument, value in sent if argument.place == "whole"]
    if whole:
        is_json = "json" in operation.content or not isinstance(whole[0], str)
        return (dumps(whole[0]) if is_json else str(whole[0])).encode()
    form = [pair for argument, value in sent if argument.place == "form" for pair in _pairs(argument, value)]
    if form:
        return urlencode(form).encode()
    keys = {argument.key: value for argument, value in sent if argument.place == "body"}
    takes_json = any(argument.place == "body" for argument in operation.arguments)
    return dumps(keys).encode() if takes_json else None


def _pairs(argument: Argument, value: Any) -> Iterator[tuple[str, str]]:
    """Give the key and text of a query parameter or form field, several where lists and objects are written so."""
    if isinstance(value, list) and argument.many == "repeat":
        for item in value:
            yield argument.key, _scalar(item)
    elif isinstance(value, Mapping) and argument.many == "deep":
        for key, item in value.items():
            yield f"{argument.key}[{key}]", _scalar(item)
    elif isinstance(value, Mapping) and argument.many == "repeat" and argument.place == "query":
        for key, item in value.items():
            yield str(key), _scalar(item)
    elif value is not None:
        yield argument.key, _text(value, argument)


def _text(value: Any, argument: Argument) -> str:
    if argument.many == "json":
        return dumps(value)
    separator = _SEPARATORS.get(argument.many, ",")
    if isinstance(value, list):
        return separator.join(map(_scalar, value))
    if isinstance(value, Mapping) and argument.place != "form":
        return separator.join(f"{key}{separator}{_scalar(item)}" for key, item in value.items())
    return _scalar(value)


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else dumps(value)
