"""The decorator with which a tool says whether it reads or writes. Stdlib only: users import it at start-up."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

Function = TypeVar("Function", bound=Callable[..., Any])

DeclaredKind = Literal["read", "write", "generic"]


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(*, kind: DeclaredKind | None = None) -> Callable[[Function], Function]: ...
def tool(function: Any = None, /, *, kind: DeclaredKind | None = None) -> Any:
    """Mark a function as a tool and settle its kind; the function itself stays as it is.

    `read` looks at state, `write` changes it, `generic` does neither. Raise `ValueError` on any other kind.
    """
    if kind not in (None, "read", "write", "generic"):
        raise ValueError(f"kind is {kind!r}; it must be 'read', 'write' or 'generic'")

    def mark(function: Function) -> Function:
        if kind is not None:
            function.kind = kind  # type: ignore[attr-defined]  # functions carry attributes of their own
        return function

    return mark if function is None else mark(function)
