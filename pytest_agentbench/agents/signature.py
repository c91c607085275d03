"""What a function of the user declares: its parameters, by name and kind, and whether it is async."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

UserFunction = Callable[..., Any]
"""Code of the user; it takes what its parameters name and returns anything."""

_ORDERED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parameters(function: UserFunction) -> list[inspect.Parameter] | None:
    """Give the parameters that a caller may fill, or None where Python cannot tell (some builtins)."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def declares(function: UserFunction, name: str) -> bool:
    """Whether `function` has a parameter of this name; `**kwargs` does not count."""
    return any(parameter.name == name and is_single(parameter) for parameter in parameters(function) or ())


def requires(function: object, name: str) -> bool:
    """Whether what can be called has a parameter of this name and no default for it."""
    if not callable(function):
        return False
    return any(parameter.name == name and is_required(parameter) for parameter in parameters(function) or ())


def is_single(parameter: inspect.Parameter) -> bool:
    """Whether the parameter takes one value, so is neither `*args` nor `**kwargs`."""
    return parameter.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def is_required(parameter: inspect.Parameter) -> bool:
    """Whether a call without the parameter fails."""
    return is_single(parameter) and parameter.default is inspect.Parameter.empty


def is_async(function: UserFunction) -> bool:
    """Whether calling `function` gives a coroutine: an async function, method, partial or `__call__`."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def fill(given: list[inspect.Parameter], values: dict[str, object]) -> tuple[list[object], dict[str, object]]:
    """Split `values` by parameter name into positional and keyword arguments; what is left out keeps its default.

    A value for `*args` goes there as one argument, and then all parameters before it are positional.
    """
    rest = [parameter for parameter in given if parameter.kind is inspect.Parameter.VAR_POSITIONAL]
    ordered = given[: given.index(rest[0])] if rest and rest[0].name in values else given
    kinds = _ORDERED if ordered is not given else (inspect.Parameter.POSITIONAL_ONLY,)
    first = [parameter for parameter in ordered if parameter.kind in kinds]
    positional = [values.get(parameter.name, parameter.default) for parameter in first]
    positional += [values[parameter.name] for parameter in rest if parameter.name in values]
    names = {parameter.name for parameter in [*first, *rest]}
    return positional, {name: value for name, value in values.items() if name not in names}


def declares_tools(function: UserFunction) -> bool:
    """Whether a factory or reply function takes the environment's tools, so has a parameter named `tools`."""
    return declares(function, "tools")


def calls_visible(*, takes_tools: bool, saw_calls: bool) -> bool:
    """Whether an agent's calls can be seen: it works with the environment's tools, or returned its calls.

    An agent that only ever gave text and takes no tools may have called anything; what it did is not known.
    """
    return takes_tools or saw_calls
