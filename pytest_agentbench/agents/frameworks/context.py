"""What a suite's context is to an agent: built into the type that the agent declares, and missed where it reads it."""

import ast
import inspect
import linecache
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from itertools import islice
from types import FrameType, MemberDescriptorType, NoneType, TracebackType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter, ValidationError

from pytest_agentbench.core.errors import SuiteFaultError, causes, with_hint
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.python_source import parsed
from pytest_agentbench.core.text import printable, raised_text, shorten

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
        return parsed(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _tree(path: str) -> ast.Module | None:
    source = "".join(linecache.getlines(path))
    return _parsed(source) if source else None


_PLAIN = (str, int, float, bool, list, dict, NoneType)
"""Types whose values can be written in a suite."""

_ANY = (None, NoneType, Any, object, inspect.Parameter.empty)
"""What an agent declares that takes whatever it is given."""

_RUN_CONTEXTS = ("agents", "langgraph", "pydantic_ai")
"""Packages whose run contexts hold ours as `context` or `deps`."""

_ADK_STATE = "google.adk.sessions.state"
_ADK_PROMPTS = ("google.adk.flows.llm_flows.prompt", "google.adk.utils.instructions_utils")
"""Modules of Google ADK that look names up in the state of a session."""


@dataclass(frozen=True, kw_only=True)
class _Field:
    annotation: Any
    required: bool


def fitted(context: Any, wanted: Any, *, what: str, others: bool = False) -> Any:
    """Give `context` as the type `wanted`, which an agent declares as its `what`; None where there is none to give.

    A mapping is built into a dataclass, pydantic model, TypedDict or any other class by its constructor; an object is
    given as it is. `others` admits values that the type has no field for, and leaves them out. Raise `SuiteFaultError`,
    which names key and type, where values are missing, unknown or of another type.
    """
    if context is not None and not isinstance(context, Mapping):
        return context
    values = dict(context or {})
    kinds = _alternatives(wanted)
    if any(kind in _ANY for kind in kinds) and (not values or len(kinds) == 1):
        return context if values else None
    kind = next(kind for kind in kinds if kind not in _ANY)
    found = _fields(kind)
    if found is None or (not found and values):
        if values and _takes_mapping(kind):
            return context
        given = "a mapping cannot be built into it" if values else "the suite gives no context"
        add = f"add `{_make_line()}`, which gives one"
        raise SuiteFaultError(f"the agent's {what} is of type {_name(kind)}, and {given}; {add}")
    if others:
        values = {name: value for name, value in values.items() if name in found}
    _refuse(kind, found, values, what)
    read = {name: _read(kind, name, found[name].annotation, value, what) for name, value in values.items()}
    try:
        return kind(**read)
    except Exception as error:  # whatever a user's constructor raises means that there is no context
        told = f"context: the agent's {what} is of type {_name(kind)}, which raised {raised_text(error)}"
        raise SuiteFaultError(shorten(printable(told), 600)) from error


def values_of(context: Any, what: str) -> dict[str, Any]:
    """Give a context as plain values by name; raise `SuiteFaultError` where it is an object."""
    if context is None or isinstance(context, Mapping):
        return {str(name): value for name, value in (context or {}).items()}
    raise SuiteFaultError(
        f"context: the agent takes values by name as its {what}, and what was made is {type(context).__name__}; "
        "give a mapping"
    )


def lacking(error: BaseException, context: Any) -> SuiteFaultError | None:
    """Give what to raise where `error` says that an agent reads of its context what the suite does not give.

    Told by the exception and the expression that raised it, never by its words alone: a table of the agent's own may
    lack the same key.
    """
    for cause in causes(error):
        if cause.__traceback__ is None:
            continue
        if isinstance(cause, AttributeError) and context is not None and cause.obj is context and cause.name:
            if isinstance(context, Mapping):
                return SuiteFaultError(
                    f"the agent reads the attribute {cause.name!r} of its context, which is a mapping here; make an "
                    f"object of it: `{_make_line()}`, a function that is given {listing(context) or 'nothing'}"
                )
        elif isinstance(cause, KeyError) and cause.args and _lacks_key(cause, context):
            return SuiteFaultError(_unread(_key(cause.args[0]), context))
        elif isinstance(cause, AttributeError | TypeError) and (name := _read_of_none(cause)):
            return SuiteFaultError(_unread(name, context))
    return None


def _unread(name: str, context: Any) -> str:
    has = "gives no context" if not context else "does not give it"
    return f"the agent reads {name!r} of its context, and the suite {has}; add `context: {{{name}: …}}`"


def _make_line(values: Mapping[str, Any] | None = None) -> str:
    more = "".join(f", {name}: …" for name in values or ())
    return f"context: {{make: my_context:make_context{more}}}"


_CONTAINERS: tuple[object, ...] = (dict, list, Mapping, Any, object)
"""Types of what may be a world to work on."""


def _refuse(kind: Any, found: Mapping[str, _Field], values: Mapping[str, Any], what: str) -> None:
    for name in values:
        if name not in found:
            message = f"context.{name}: the agent's {what} is of type {_name(kind)}, which has no {name!r}, but "
            message += listing(found) if found else "nothing"
            raise SuiteFaultError(with_hint(message, suggestion(name, list(found))))
    missing = {name: one.annotation for name, one in found.items() if one.required and name not in values}
    if not missing:
        return
    told = listing([f"{name} ({_name(annotation)})" for name, annotation in missing.items()])
    if all(_is_plain(annotation) for annotation in missing.values()):
        line = f"context: {{{', '.join(f'{name}: …' for name in missing)}}}"
        add = f"add `{line}`"
        if any((get_origin(annotation) or annotation) in _CONTAINERS for annotation in missing.values()):
            add += f"; where that is the run's state, `{_make_line()}`: a function that takes `state` and gives a "
            add += _name(kind)
    else:
        add = f"add `{_make_line(values)}`, a function that gives a {_name(kind)}"
    given = "lacks" if values else "is not given: it needs"
    raise SuiteFaultError(f"context: the agent's {what} of type {_name(kind)} {given} {told}; {add}")


def _read(kind: Any, name: str, annotation: Any, value: Any, what: str) -> Any:
    """Give a value as its field's type; a type that nobody can check takes it as it is."""
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation, config=_config(annotation))
    except PydanticUserError:
        return value
    except Exception:  # noqa: BLE001 - annotations are the user's, and may be anything
        return value
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        [detail, *_] = error.errors(include_url=False, include_context=False)
        place = ".".join(str(part) for part in (name, *detail["loc"]))
        raise SuiteFaultError(
            f"context.{place}: {detail['msg']}, found {_shape(detail['input'])} "
            f"(the agent's {what} is of type {_name(kind)}, whose {name} is {_name(annotation)})"
        ) from error


def _shape(value: object) -> str:
    """Give the type and length of a value, which may be a secret: one that is cut is not found again and hidden."""
    if not isinstance(value, str | bytes | list | dict):
        return type(value).__name__
    return f"{type(value).__name__} of {len(value)} {'characters' if isinstance(value, str) else 'items'}"


def _config(annotation: Any) -> ConfigDict | None:
    has_own = is_typeddict(annotation) or is_dataclass(annotation)
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return None if has_own or is_model else ConfigDict(arbitrary_types_allowed=True)


def _fields(kind: Any) -> dict[str, _Field] | None:
    """Give what a class is built of, by name; None for what no mapping is built into."""
    origin = get_origin(kind) or kind
    if not isinstance(origin, type) or origin.__module__ == "builtins" or issubclass(origin, Mapping):
        return _typed_dict(kind) if is_typeddict(origin) else None
    if issubclass(origin, BaseModel):
        return {
            (one.alias if isinstance(one.alias, str) and one.validation_alias is None else name): _Field(
                annotation=one.rebuild_annotation(), required=one.is_required()
            )
            for name, one in origin.model_fields.items()
        }
    hints = _hints(origin)
    if is_dataclass(origin):
        names = {one.name for one in fields(origin) if one.init}
        parameters = [one for one in _parameters(origin) if one.name in names or one.name in hints]
    else:
        hints = _hints(origin.__init__)
        parameters = _parameters(origin)
    if any(one.kind is one.POSITIONAL_ONLY for one in parameters):
        return None
    return {
        one.name: _Field(annotation=hints.get(one.name, Any), required=one.default is one.empty)
        for one in parameters
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    }


def _typed_dict(kind: Any) -> dict[str, _Field]:
    hints = _hints(kind)
    required = getattr(kind, "__required_keys__", frozenset(hints))
    return {name: _Field(annotation=one, required=name in required) for name, one in hints.items()}


def _parameters(function: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [inspect.Parameter("unknown", inspect.Parameter.POSITIONAL_ONLY)]


def _hints(owner: Any) -> dict[str, Any]:
    try:
        return get_type_hints(owner)
    except Exception:  # noqa: BLE001 - annotations are the user's, and may name what is not there
        return dict(getattr(owner, "__annotations__", {}))


def _alternatives(wanted: Any) -> tuple[Any, ...]:
    is_union = get_origin(wanted) in (Union, types.UnionType)
    return get_args(wanted) if is_union else (wanted,)


def _takes_mapping(kind: Any) -> bool:
    origin = get_origin(kind) or kind
    return isinstance(origin, type) and (issubclass(origin, Mapping) or issubclass(dict, origin))


def _is_plain(annotation: Any) -> bool:
    return all((get_origin(one) or one) in (*_PLAIN, Any) for one in _alternatives(annotation))


def _name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else repr(kind).replace("typing.", "")


def _read_of_none(error: AttributeError | TypeError) -> str:
    """Name what was read of a run context's `context` or `deps` that is None, nothing where it was no such thing."""
    raised = Raised(cast("TracebackType", error.__traceback__))
    match raised.node:
        case ast.Attribute(value=owner, attr=name) if isinstance(error, AttributeError):
            read = name
        case ast.Subscript(value=owner, slice=key) if isinstance(error, TypeError):
            value = raised.value(key)
            read = value if isinstance(value, str) else ""
        case _:
            return ""
    return read if _is_held(raised, owner) and raised.value(raised.origin(owner)) is None else ""


def _is_held(raised: Raised, node: ast.expr) -> bool:
    """Whether an expression is where a framework's run context holds ours."""
    origin = raised.origin(node)
    return isinstance(origin, ast.Attribute) and _holds(raised.value(origin.value), origin.attr)


def _holds(value: Any, name: str) -> bool:
    """Whether the attribute `name` of a framework's run context is where ours is."""
    is_theirs = type(value).__module__.partition(".")[0] in _RUN_CONTEXTS
    return is_theirs and name in ("context", "deps") and name in getattr(type(value), "__dataclass_fields__", ())


def _lacks_key(error: KeyError, context: Any) -> bool:
    """Whether what raised a KeyError looked into the context, or into a LangGraph config, for it."""
    key, raised = error.args[0], Raised(cast("TracebackType", error.__traceback__))
    module = str(raised.frame.f_globals.get("__name__"))
    if module == _ADK_STATE or (module.startswith(_ADK_PROMPTS) and "`" in str(key)):
        return True
    return any(
        isinstance(value := raised.value(node), Mapping)
        and key not in value
        and (_is_held(raised, node) or value is context or _is_configurable(value, raised.frames))
        for node in _looked_into(raised.node)
    )


def _looked_into(node: ast.expr | None) -> list[ast.expr]:
    """Give what an expression may have looked a key up in: what it subscribes, or what it calls a function with."""
    match node:
        case ast.Subscript(value=owner):
            return [owner]
        case ast.Call(func=function, args=args, keywords=keywords):
            own = [function.value] if isinstance(function, ast.Attribute) else []
            return [*own, *args, *(one.value for one in keywords)]
        case _:
            return []


def _is_configurable(value: object, frames: Sequence[FrameType]) -> bool:
    """Whether a mapping is the `configurable` of a config that one of the frames was called with."""
    held = (one for frame in frames for one in frame.f_locals.values() if type(one) is dict)
    return any(
        "thread_id" in inner and inner is value for one in held if type(inner := one.get("configurable")) is dict
    )


def _key(told: Any) -> str:
    """Give the name in a KeyError; ADK puts it between backquotes into a sentence."""
    parts = str(told).split("`")
    return parts[1] if len(parts) == 3 else str(told)
