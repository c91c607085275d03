"""The context of a run: the values that suite and scenario give, or the object that a function makes of them."""

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError, SuiteFaultError, with_hint
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.protocols import RunSync
from pytest_agentbench.core.text import printable, raised_text
from pytest_agentbench.environment.import_path import load_object
from pytest_agentbench.environment.state_access import HungError, Raised, caught, caught_async, is_exit, within

MAKE = "make"
"""The key of a context that names the function which makes it."""

_IMPORT_PATH = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


def split_context(context: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Give the import path of the function that makes the context, "" where there is none, and the plain values."""
    values = dict(context)
    make = values.get(MAKE)
    if not isinstance(make, str) or not _IMPORT_PATH.fullmatch(make):
        return "", values
    del values[MAKE]
    return make, values


async def make_context(
    make: str,
    values: Mapping[str, Any],
    *,
    root: Path,
    offered: Mapping[str, Any],
    runner: RunSync,
    patience: float | None = None,
) -> tuple[Any, frozenset[str]]:
    """Call the function that makes a context with the `values` and, of what is `offered`, what it declares by name.

    Give the context, and the names of what was offered and taken. A sync function runs in the run's thread. Raise
    `ImportPathError` where the path leads nowhere, `SuiteFaultError` where the function does not take the values, asks
    for more, raises, or takes more than `patience` seconds; where it hangs in the thread, a `HungError` is the cause.
    """
    who = f"context: {MAKE}: {make!r}"
    try:
        return await within(patience, _made(make, values, root=root, offered=offered, runner=runner), who)
    except HungError as error:
        raise SuiteFaultError(str(error)) from error


async def _made(
    make: str, values: Mapping[str, Any], *, root: Path, offered: Mapping[str, Any], runner: RunSync
) -> tuple[Any, frozenset[str]]:
    function = await _called(lambda: load_object(make, root), runner, make)
    if not callable(function):
        raise SuiteFaultError(f"context: {MAKE}: {make!r} is {type(function).__name__}, which cannot be called")
    arguments = _arguments(function, make, values, offered)
    taken = frozenset(name for name in arguments if name in offered and name not in values)
    if inspect.iscoroutinefunction(function):
        return _unraised(await caught_async(function(**arguments)), make), taken
    made = await _called(lambda: function(**arguments), runner, make)
    return (_unraised(await caught_async(made), make) if inspect.isawaitable(made) else made), taken


def _arguments(
    function: Callable[..., Any], make: str, values: Mapping[str, Any], offered: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return dict(values)
    single = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    names = [one.name for one in single]
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)
    unknown = [name for name in values if name not in names]
    if unknown and not takes_any:
        message = f"context: {MAKE}: {make!r} has no parameter {unknown[0]!r}, which the context gives; it takes "
        message += listing(names) if names else "nothing"
        raise SuiteFaultError(with_hint(message, suggestion(unknown[0], names)))
    given = {name: value for name, value in offered.items() if name in names} | dict(values)
    missing = [one.name for one in single if one.default is one.empty and one.name not in given]
    if missing:
        raise SuiteFaultError(
            f"context: {MAKE}: {make!r} requires {listing(missing)}, which the context does not give; "
            f"add `context: {{{MAKE}: {make!r}, {', '.join(f'{name}: …' for name in missing)}}}`"
        )
    return given


async def _called(work: Callable[[], Any], runner: RunSync, make: str) -> Any:
    return _unraised(await runner(lambda: caught(work)), make)


def _unraised(given: Any, make: str) -> Any:
    """Give what user code returned; what it raised is the suite's fault, an exit that of the environment."""
    if not isinstance(given, Raised):
        return given
    error = given.error
    if is_exit(error):
        raise EnvironmentFaultError(f"context: {MAKE}: {make!r} raised {raised_text(error)}") from error
    if type(error).__module__ == "pytest_agentbench.core.errors":
        raise error
    raise SuiteFaultError(f"context: {MAKE}: {make!r} raised {raised_text(error)}{_place(error)}") from error


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f" ({printable(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})"
