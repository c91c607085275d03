"""The parameters of a tool function: what callers may give, what is injected, and their types."""

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from pytest_agentbench.core.errors import EnvironmentFaultError

INJECTED = ("state", "context")
"""Parameters that the environment fills in; callers neither see nor give them."""

NOW = "now"
"""The parameter that it fills in, too, where the suite says what its clock shows."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One argument that callers may give; `default` is `inspect.Parameter.empty` where it is required."""

    name: str
    annotation: Any
    default: Any
    positional: bool = False

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True, kw_only=True)
class ToolSignature:
    """What a function takes: visible parameters in order, injected ones, and whether `**keywords` take any other."""

    parameters: tuple[Parameter, ...]
    injected: tuple[str, ...]
    needs: tuple[str, ...]
    open_ended: bool
    returns: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The visible names in order."""
        return tuple(parameter.name for parameter in self.parameters)


def read_signature(function: Callable[..., Any], name: str, filled: tuple[str, ...] = INJECTED) -> ToolSignature:
    """Read a tool's signature; the parameters named in `filled` are not the caller's.

    Raise `EnvironmentFaultError` where callers could not call it by name.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError, NameError) as error:
        raise EnvironmentFaultError(f"tool {name!r} has no readable signature: {error}") from error
    visible: list[Parameter] = []
    injected: list[str] = []
    needs: list[str] = []
    open_ended = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise EnvironmentFaultError(
                f"tool {name!r} takes *{parameter.name}; tools are called by argument name, so make it a list"
            )
        if parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
        elif parameter.name in filled:
            injected.append(parameter.name)
            if parameter.default is parameter.empty:
                needs.append(parameter.name)
        else:
            visible.append(_visible(function, name, parameter))
    try:
        returns = _resolved(function, signature.return_annotation)
    except Exception:  # noqa: BLE001 - evaluating an annotation runs user code, and nothing depends on this one
        returns = inspect.Signature.empty
    return ToolSignature(
        parameters=tuple(visible),
        injected=tuple(injected),
        needs=tuple(needs),
        open_ended=open_ended,
        returns=returns,
    )


def _visible(function: Callable[..., Any], tool: str, parameter: inspect.Parameter) -> Parameter:
    try:
        annotation = _resolved(function, parameter.annotation)
    except Exception as error:
        raise EnvironmentFaultError(
            f"tool {tool!r}: the type of {parameter.name!r}, {parameter.annotation!r}, cannot be resolved: {error}"
        ) from error
    if annotation is inspect.Parameter.empty:
        annotation = Any
    elif parameter.default is None and annotation is not Any:
        annotation = typing.Optional[annotation]  # noqa: UP045 - built from a value; agents send null for `x: str = None`
    return Parameter(
        name=parameter.name,
        annotation=annotation,
        default=parameter.default,
        positional=parameter.kind is parameter.POSITIONAL_ONLY,
    )


def _resolved(function: Callable[..., Any], annotation: Any) -> Any:
    """Evaluate one annotation; each for itself, since those of injected parameters need not exist at run time."""
    if annotation is inspect.Parameter.empty:
        return annotation
    unwrapped = inspect.unwrap(function)
    names = getattr(unwrapped, "__globals__", {})
    holder = SimpleNamespace(__annotations__={"it": annotation})
    return typing.get_type_hints(holder, globalns=names, include_extras=True)["it"]
