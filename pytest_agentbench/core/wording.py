"""What pydantic refused, in words of the file."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from pytest_agentbench.core.errors import with_hint
from pytest_agentbench.core.json_values import JsonValue
from pytest_agentbench.core.misfit import Keys, Misfit, shown
from pytest_agentbench.core.names import MOST_ALLOWED, listing, suggestion

TAG = "\ue000"
"""Begins the tags of unions in pydantic's paths: a character of private use, which no key of ours begins with."""

_OLD_BOOLEANS = ("yes", "on", "y", "true", "no", "off", "n", "false")
"""Words that YAML 1.1 takes for booleans: those that mean true, then those that mean false."""


def misfit(message: str, hint: str = "", *, at: Keys = (), at_key: bool = False) -> PydanticCustomError:
    """Give what a validator raises: `at` leads from the value to the part that is wrong."""
    context = {"message": message, "hint": hint, "at": at, "at_key": at_key}
    return PydanticCustomError("misfit", "{message}", context)


def unexpected(value: object, words: str, hint: str = "") -> PydanticCustomError:
    """Give the error of a value that is not what these words say."""
    return misfit(f"found {shown(value)}, expected {words}", hint)


def several(wrong: Iterable[Misfit]) -> ValidationError:
    """Give what a validator raises where several parts of a value are wrong."""
    told = [
        InitErrorDetails(type=misfit(one.message, one.hint, at_key=one.at_key), loc=one.path, input=None)
        for one in wrong
    ]
    return ValidationError.from_exception_data("", told)


def unknown_key(
    key: str, keys: Iterable[str], instead: Mapping[str, str] = MappingProxyType({}), *, is_bare: bool = False
) -> Misfit:
    """Say that there is no such key: those that there are, and which was probably meant.

    `instead` says what to write for a key, under "" for any other; `is_bare` that it has no value.
    """
    known = list(keys)
    meant = suggestion(key, known)
    # what was meant comes first: nobody reads on to the end of a long list
    message = f"unknown key {with_hint(repr(key), meant)}, allowed: {listing(known, MOST_ALLOWED)}"
    hint = instead.get(key, "")
    if not meant and not hint:
        if is_bare and ("" in instead or not re.fullmatch(r"[\w$-]+", key)):
            hint = "it has no value: in braces a comma begins a new key, so put a text that holds one in quotes"
        elif " " in key:
            hint = "a colon makes a mapping: put a text that holds one in quotes"
        else:
            hint = instead.get("", "")
    return Misfit(path=(key,), message=message, hint=hint, at_key=True)


def lacks_one_of(names: Iterable[str], given: Iterable[str], keys: Iterable[str]) -> ValidationError:
    """Say that one of several keys is missing, and which of those `given` are none of `keys`."""
    lacking = Misfit(path=(), message=f"one of the keys {listing(map(repr, names))} is missing")
    known = list(dict.fromkeys(keys))
    return several([lacking, *(unknown_key(str(key), known) for key in given if key not in known)])


def misfits_of(error: ValidationError, path: Keys = ()) -> list[Misfit]:
    """Give what pydantic refused in words of the file; `path` leads to the value that was validated."""
    found: list[Misfit] = []
    items = error.errors(include_url=False)
    wrong_keys = {item["loc"][:-1] for item in items if _is_of_key(item)}
    for item in items:
        if item["loc"] in wrong_keys:
            continue  # whose key is wrong is told once
        told = told_of(item)
        steps = item["loc"][:-1] if _is_of_key(item) else item["loc"]
        where = tuple(step for step in steps if not str(step).startswith(TAG))
        at = told["at"]
        message, hint = str(told["message"]), str(told["hint"])
        at_key = bool(told["at_key"]) or _is_of_key(item)
        found.append(Misfit(path=(*path, *where, *at), message=message, hint=hint, at_key=at_key))
    return found


def _is_of_key(item: Any) -> bool:
    """Whether what is wrong is a key of a mapping: pydantic ends the path with `[key]`, as a file's own key may be."""
    return bool(item["loc"][-1:] == ("[key]",) and item["type"] != "extra_forbidden")


def told_of(item: Any) -> dict[str, Any]:
    """Say in words what pydantic says of one value."""
    value, context = item["input"], item.get("ctx", {})
    is_key = _is_of_key(item)
    told: dict[str, Any] = {"hint": "", "at": (), "at_key": False}
    if item["type"] == "misfit":
        return {**told, **context}
    if item["type"] == "expected":
        hint = meant(value) if context.get("kind") == "bool" else ""
        if context.get("kind") == "str" and isinstance(value, bool | int | float):
            # YAML reads 3.50 as a number: whoever means the text has to say so
            hint = "put it in quotes to make it text" if re.search(context["pattern"], str(value)) else ""
        if context.get("kind") == "str" and isinstance(value, str):
            hint = hint or _as_import_path(value, context["pattern"])
        found = f"the name {shown(value)}" if is_key else shown(value)
        return told | {"message": f"found {found}, expected {context['words']}", "hint": hint}
    if item["type"] == "value_error":
        return told | {"message": str(context["error"])}
    return told | {"message": f"found {shown(value)}: {item['msg']}"}


def as_list(value: Any) -> str:
    """Say how a list is written where a text or a mapping stands in its place."""
    if isinstance(value, str):
        return "a list is written in brackets, with commas: [one, two]"
    return "put `- ` before it: it is one item of a list" if isinstance(value, dict) and value else ""


def _as_import_path(value: str, pattern: str) -> str:
    """Say what to write where the pattern takes `module:name`: `shop.py:build` and `shop.build` mean `shop:build`."""
    file, _, name = value.rpartition(":") if ":" in value else value.rpartition(".")
    _, outside, inside = file.rpartition("../")
    path = f"{inside.removesuffix('.py').removeprefix('./').replace('/', '.')}:{name}"
    if name == "py" or not re.search(pattern, path):
        return ""
    other = f", or {value}:NAME where that is a module" if ":" not in value else ""
    return f"write {path}{other}" + (
        ", with `pythonpath` in pytest's ini file for a folder elsewhere" if outside else ""
    )


def meant(value: JsonValue) -> str:
    """Say what to write for a word that older YAML took for a boolean."""
    if not isinstance(value, str) or value.lower() not in _OLD_BOOLEANS:
        return ""
    return f"YAML 1.2 reads {value} as a text: write {'true' if value.lower() in _OLD_BOOLEANS[:4] else 'false'}"
