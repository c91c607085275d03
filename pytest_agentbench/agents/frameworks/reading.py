"""Where an exception was raised: the expression that raised it in its source, and what its parts stood for."""

import ast
import inspect
import linecache
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from types import FrameType, MemberDescriptorType, TracebackType
from typing import Any

UNKNOWN: Any = object()
"""What an expression stands for that cannot be told without running it again."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Raised:
    """The innermost expression that raised; `node` is None where its source is not at hand."""

    def __init__(self, trace: TracebackType) -> None:
        outer = [trace.tb_frame]
        while trace.tb_next is not None:
            trace = trace.tb_next
            outer.append(trace.tb_frame)
        self.frame: FrameType = trace.tb_frame
        self.frames = outer
        self.node: ast.expr | None = None
        self._scope: ast.AST | None = None
        found = next(islice(self.frame.f_code.co_positions(), trace.tb_lasti // 2, None), None)
        tree = _tree(self.frame.f_code.co_filename) if found and None not in found else None
        if tree is not None:
            self.node, self._scope = _at(tree, found)

    def value(self, node: ast.AST) -> Any:
        """Give what an expression stood for, `UNKNOWN` where only running it would tell."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                local = self.frame.f_locals.get(name, UNKNOWN)
                return self.frame.f_globals.get(name, UNKNOWN) if local is UNKNOWN else local
            case ast.Attribute(value=owner, attr=name):
                return _attribute(self.value(owner), name)
            case ast.Subscript(value=owner, slice=key):
                held, at = self.value(owner), self.value(key)
                is_there = isinstance(held, Mapping) and isinstance(at, str) and at in held
                return held[at] if is_there else UNKNOWN
            case _:
                return UNKNOWN

    def origin(self, node: ast.AST) -> ast.AST:
        """Give the expression whose value a name has, if it is given one once; else `node` itself."""
        if not isinstance(node, ast.Name) or self._scope is None:
            return node
        given = [one for one in ast.walk(self._scope) if isinstance(one, ast.Name) and one.id == node.id]
        stored = [one for one in given if not isinstance(one.ctx, ast.Load)]
        values = (
            [
                one.value
                for one in ast.walk(self._scope)
                if isinstance(one, ast.Assign | ast.AnnAssign | ast.NamedExpr)
                and any(
                    target is stored[0] for target in (one.targets if isinstance(one, ast.Assign) else [one.target])
                )
            ]
            if len(stored) == 1
            else []
        )
        return values[0] if values and values[0] is not None else node


def _attribute(owner: Any, name: str) -> Any:
    """Give an attribute without running a property."""
    found = inspect.getattr_static(owner, name, UNKNOWN)
    return found.__get__(owner) if isinstance(found, MemberDescriptorType) else found


def _at(tree: ast.Module, place: Any) -> tuple[ast.expr | None, ast.AST]:
    """Give the expression at a place, and the function that it stands in."""
    line, end_line, column, end_column = place
    for node, scope in _expressions(tree, tree):
        if (node.end_lineno, node.end_col_offset) != (end_line, end_column):
            continue
        # an attribute on a line of its own is told from its name on
        if (node.lineno, node.col_offset) == (line, column) or (isinstance(node, ast.Attribute) and line == end_line):
            return node, scope
    return None, tree


def _expressions(node: ast.AST, scope: ast.AST) -> Iterator[tuple[ast.expr, ast.AST]]:
    left = [(node, scope)]
    while left:
        one, within = left.pop()
        if isinstance(one, ast.Attribute | ast.Subscript | ast.Call):
            yield one, within
        below = one if isinstance(one, _FUNCTIONS) else within
        left += [(child, below) for child in ast.iter_child_nodes(one)]


@lru_cache(maxsize=8)
def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _tree(path: str) -> ast.Module | None:
    source = "".join(linecache.getlines(path))
    return _parsed(source) if source else None
