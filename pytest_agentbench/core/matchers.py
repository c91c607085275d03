"""The grammar of matchers: argument values that stand for others, such as `{$regex: "W\\\\d+"}`.

A matcher is a mapping with one key that starts with `$`, and `tol` beside `$approx`:
`{$approx: 3.5, tol: 0.01}`, `{$regex: "W\\\\d+"}`, `{$any: true}`, `{$subset: {...}}` or `{$subset: [...]}`,
`{$call: "package.module:predicate"}`. Matchers stand at any depth of a value, and inside `$subset`.
"""

import re
from collections.abc import Iterator, Mapping

from pytest_agentbench.core.misfit import Keys, Misfit, shown
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.values import is_number

_IMPORT_PATH = re.compile(r"[^\W\d]\w*(\.\w+)*:\w+(\.\w+)*")
_PARTNERS: Mapping[str, tuple[str, ...]] = {"$approx": ("tol",), "$regex": (), "$any": (), "$subset": (), "$call": ()}
"""The matchers there are, and the keys that may stand beside each."""


def is_matcher(value: object) -> bool:
    """Whether `value` is a mapping meant as a matcher: one of its keys starts with `$`."""
    return isinstance(value, Mapping) and any(_is_operator(key) for key in value)


def holds_matcher(value: object) -> bool:
    """Whether `value` is a matcher or has one inside, at any depth."""
    if isinstance(value, Mapping):
        return is_matcher(value) or any(map(holds_matcher, value.values()))
    return isinstance(value, list | tuple) and any(map(holds_matcher, value))


def matcher_misfits(value: object, path: Keys = ()) -> Iterator[Misfit]:
    """Yield what is wrong with every matcher inside `value` that cannot work; `path` leads to the value."""
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from matcher_misfits(item, (*path, index))
    elif isinstance(value, Mapping) and not is_matcher(value):
        for key, item in value.items():
            yield from matcher_misfits(item, (*path, str(key)))
    elif isinstance(value, Mapping):
        yield from _matcher(value, path)


def _is_operator(key: object) -> bool:
    return isinstance(key, str) and key.startswith("$")


def _matcher(matcher: Mapping[str, object], path: Keys) -> Iterator[Misfit]:
    operators = [key for key in matcher if _is_operator(key)]
    unknown = [operator for operator in operators if operator not in _PARTNERS]
    if unknown:
        message = f"unknown matcher {unknown[0]!r}, allowed: {listing(_PARTNERS)}"
        yield Misfit(path=(*path, unknown[0]), message=message, hint=suggestion(unknown[0], _PARTNERS), at_key=True)
        return
    operator, partners = operators[0], _PARTNERS[operators[0]]
    others = [key for key in matcher if key != operator and key not in partners]
    if others:
        allowed = f"beside it only {listing(partners)} may stand" if partners else "a matcher stands alone"
        message = f"{operator} stands beside {listing(map(repr, others))}: {allowed}"
        yield Misfit(path=path, message=message, hint=suggestion(str(others[0]), partners))
        return
    yield from _operand(operator, matcher, path)


def _operand(operator: str, matcher: Mapping[str, object], path: Keys) -> Iterator[Misfit]:
    operand = matcher[operator]
    where = (*path, operator)
    expected = ""
    match operator:
        case "$subset":
            if isinstance(operand, Mapping | list | tuple) and not is_matcher(operand):
                yield from matcher_misfits(operand, where)
            else:
                expected = "expected a mapping or a list"
        case "$any":
            expected = "" if operand is True else "allowed: true"
        case "$call":
            fits = isinstance(operand, str) and _IMPORT_PATH.fullmatch(operand)
            expected = "" if fits else "expected an import path package.module:name"
        case "$regex":
            yield from _regex(operand, where)
        case _:
            expected = "" if is_number(operand) else "expected a number"
            tolerance = matcher.get("tol", 0)
            if not is_number(tolerance) or tolerance < 0:
                message = f"found {shown(tolerance)}, expected a number, 0 or more"
                yield Misfit(path=(*path, "tol"), message=message)
    if expected:
        yield Misfit(path=where, message=f"found {shown(operand)}, {expected}")


def _regex(operand: object, where: Keys) -> Iterator[Misfit]:
    if not isinstance(operand, str):
        yield Misfit(path=where, message=f"found {shown(operand)}, expected a regular expression")
        return
    try:
        re.compile(operand)
    except (re.error, OverflowError, RecursionError) as error:
        yield Misfit(path=where, message=f"{shown(operand)} is not a regular expression: {error}")
