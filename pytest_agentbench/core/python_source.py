"""Reading Python source as a tree, from any thread."""

import ast
import threading
from typing import Literal, cast, overload

_PARSING = threading.Lock()
"""CPython 3.11 counts how deep a tree is in one place: two threads that parse at a time may fail with `SystemError`."""


@overload
def parsed(source: str | bytes, file: str = ..., mode: Literal["exec"] = ...) -> ast.Module: ...
@overload
def parsed(source: str | bytes, file: str = ..., *, mode: Literal["eval"]) -> ast.Expression: ...
def parsed(
    source: str | bytes, file: str = "<unknown>", mode: Literal["exec", "eval"] = "exec"
) -> ast.Module | ast.Expression:
    """Give the tree of a module or an expression, one at a time; raise as `ast.parse` does."""
    with _PARSING:
        return cast("ast.Module | ast.Expression", ast.parse(source, file, mode))
