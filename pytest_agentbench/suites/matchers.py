"""The syntax of matchers: values of expected calls such as `{$regex: "W\\\\d+"}`."""

import re
from collections.abc import Iterator

from pytest_agentbench.core.values import JsonValue
from pytest_agentbench.suites.document import Keys, shown
from pytest_agentbench.suites.names import listing, suggestion
from pytest_agentbench.suites.shape import Misfit, fits_type

_IMPORT_PATH = re.compile(r"[^\W\d]\w*(\.\w+)*:\w+(\.\w+)*")
_PARTNERS = {"$approx": {"tol"}, "$regex": set(), "$any": set(), "$subset": set(), "$call": set()}


def matcher_misfits(value: JsonValue, path: Keys) -> Iterator[Misfit]:
    """Yield every matcher inside `value` that cannot work."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from matcher_misfits(item, (*path, index))
    if not isinstance(value, dict):
        return
    operators = [key for key in value if key.startswith("$")]
    if not operators:
        for key, item in value.items():
            yield from matcher_misfits(item, (*path, key))
        return
    for operator in operators:
        if operator not in _PARTNERS:
            message = f"unknown matcher {operator!r}, allowed: {listing(_PARTNERS)}"
            yield Misfit(path=(*path, operator), message=message, hint=suggestion(operator, _PARTNERS), at_key=True)
            return
    operator = operators[0]
    others = set(value) - {operator} - _PARTNERS[operator]
    if others:
        message = f"{operator} stands beside {listing(map(repr, sorted(others)))}: a matcher stands alone"
        yield Misfit(path=path, message=message)
        return
    yield from _operand(operator, value, path)


def _has_operator(value: JsonValue) -> bool:
    return isinstance(value, dict) and any(key.startswith("$") for key in value)


def _operand(operator: str, value: dict[str, JsonValue], path: Keys) -> Iterator[Misfit]:
    operand = value[operator]
    where = (*path, operator)
    if operator == "$subset":
        if not isinstance(operand, dict | list) or _has_operator(operand):
            yield Misfit(path=where, message=f"found {shown(operand)}, expected a mapping or a list")
        else:
            yield from matcher_misfits(operand, where)
    elif operator == "$any":
        if operand is not True:
            yield Misfit(path=where, message=f"found {shown(operand)}, allowed: true")
    elif operator == "$call":
        if not (isinstance(operand, str) and _IMPORT_PATH.fullmatch(operand)):
            yield Misfit(path=where, message=f"found {shown(operand)}, expected an import path package.module:name")
    elif operator == "$regex":
        yield from _regex(operand, where)
    else:
        for key, number in value.items():
            if not fits_type(number, "number") or (key == "tol" and number < 0):
                yield Misfit(path=(*path, key), message=f"found {shown(number)}, expected a number")


def _regex(operand: JsonValue, where: Keys) -> Iterator[Misfit]:
    if not isinstance(operand, str):
        yield Misfit(path=where, message=f"found {shown(operand)}, expected a regular expression")
        return
    try:
        re.compile(operand)
    except (re.error, OverflowError, RecursionError) as error:
        yield Misfit(path=where, message=f"{shown(operand)} is not a regular expression: {error}")
