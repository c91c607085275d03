"""Python functions as tools: their schema, and calling them with checked arguments.

JSON Schema comes from the typed signature and the docstring through pydantic; arguments are validated and converted
by the same types before the function sees them. A result that is a string is given as it is; anything else as JSON
text, None as `null`.
"""

import builtins
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property, lru_cache, partial
from types import ModuleType, SimpleNamespace
from typing import Any, get_args, is_typeddict

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import EnvironmentFaultError, with_hint
from pytest_agentbench.core.names import count
from pytest_agentbench.core.text import shorten
from pytest_agentbench.core.tool import Requestor, Toolset, ToolSpec
from pytest_agentbench.environment.import_path import forget_module
from pytest_agentbench.environment.kinds import NO_LISTS, KindLists

_SPEAKING = (Exception, ValueError, RuntimeError)
"""Builtin exceptions whose message stands for itself; others (`KeyError: 'W9'`) need their name."""


def render_result(value: object) -> str:
    """Give a string as it is and anything else as JSON text: None is `null`, database rows are objects."""
    return str.__str__(value) if isinstance(value, str) else dumps(_unpacked(value))


def render_error(error: BaseException) -> str:
    """Give `Error: …` with the message, led by the type's name where the message alone says little."""
    name = type(error).__name__
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - the exception is the user's, and so is its __str__
        message = ""
    if not message:
        return f"Error: {name}"
    named = type(error).__module__ == builtins.__name__ and type(error) not in _SPEAKING
    return f"Error: {name}: {message}" if named else f"Error: {message}"


def _unpacked(value: object) -> object:
    """Turn rows of database drivers (keys and items, but no Mapping: `sqlite3.Row`) into dicts, at any depth."""
    if isinstance(value, Mapping):
        return {key: _unpacked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_unpacked(item) for item in value]
    keys = getattr(value, "keys", None)
    if callable(keys) and not isinstance(value, type) and hasattr(type(value), "__getitem__"):
        return {str(key): _unpacked(value[key]) for key in keys()}  # type: ignore[index]  # __getitem__ was seen
    return value


INJECTED = ("state", "context")
"""Parameters that the environment fills in; callers neither see nor give them."""

NOW = "now"
"""The parameter that it fills in, too, where the suite says what its clock shows."""


Parameter = inspect.Parameter
"""One argument that callers may give, its type evaluated."""


def is_required(parameter: Parameter) -> bool:
    """Whether a call must give an argument."""
    return parameter.default is Parameter.empty


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
    return parameter.replace(annotation=annotation)


def _resolved(function: Callable[..., Any], annotation: Any) -> Any:
    """Evaluate one annotation; each for itself, since those of injected parameters need not exist at run time."""
    if type(annotation) is type:  # a plain class, `inspect.Parameter.empty` among them, as most are
        return annotation
    unwrapped = inspect.unwrap(function)
    names = getattr(unwrapped, "__globals__", {})
    holder = SimpleNamespace(__annotations__={"it": annotation})
    return typing.get_type_hints(holder, globalns=names, include_extras=True)["it"]


class ArgumentsError(TypeError):
    """A call's arguments do not fit the tool; the message tells the caller what does."""


Made = Callable[[dict[str, Any]], Any]
"""Makes a call with the arguments that it is given, by name."""

Strike = Callable[[str, dict[str, Any], Made], Any]
"""Makes a call of the tool of a name, in whatever way a fault makes of it."""


class PythonTool:
    """A function as a tool of one party. The validator is built at the first call; `strike` is what makes its calls."""

    strike: Strike | None = None

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        requestor: Requestor = "assistant",
        prefix: str = "",
        lists: KindLists = NO_LISTS,
        filled: tuple[str, ...] = INJECTED,
    ) -> None:
        name = getattr(function, "__name__", None)
        if not isinstance(name, str) or name == "<lambda>":
            raise EnvironmentFaultError(f"{function!r} cannot be a tool: it has no name; define it with def")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise EnvironmentFaultError(f"tool {name!r} is a generator; return a list instead")
        self.function = function
        self.name: str = f"{prefix}{name}"
        self.requestor: Requestor = requestor
        self.is_async = inspect.iscoroutinefunction(function)
        self.kind, self.kind_from = lists.declared(self.name, getattr(function, "kind", None))
        self.signature: ToolSignature = read_signature(function, name, filled)
        self._filled = filled

    @cached_property
    def spec(self) -> ToolSpec:
        """The tool as its caller sees it; raise `EnvironmentFaultError` where a type has no JSON Schema."""
        try:
            parameters = self._model.model_json_schema(schema_generator=_Quiet)
        except PydanticUserError as error:
            raise EnvironmentFaultError(f"tool {self.name!r}: no JSON Schema for its types: {error}") from error
        parameters.pop("title", None)
        parameters.pop("description", None)
        parameters.setdefault("properties", {})
        description, _ = split_docstring(self.function.__doc__)
        return ToolSpec(
            name=self.name,
            description=description,
            parameters=parameters,
            kind=self.kind,
            kind_from=self.kind_from,
            returns=_returned(self.signature.returns),
            requestor=self.requestor,
        )

    def bind(self, arguments: Mapping[str, Any], injected: Mapping[str, Any]) -> Callable[[], Any]:
        """Check and convert `arguments` and give the call to be made; raise `ArgumentsError` where they do not fit."""
        given = self.validated(dict(arguments))
        made = partial(self.make, injected)
        return partial(made, given) if self.strike is None else partial(self.strike, self.name, given, made)

    def make(self, injected: Mapping[str, Any], arguments: dict[str, Any]) -> Any:
        """Call the function by name, but for parameters that only take a position."""
        filled = {name: injected[name] for name in self.signature.injected if name in injected}
        first = [one.name for one in self.signature.parameters if one.kind is one.POSITIONAL_ONLY]
        named = {name: value for name, value in arguments.items() if name not in first}
        return self.function(*(arguments[name] for name in first), **named, **filled)

    def named(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Give the arguments of an ordinary Python call by name; raise `ArgumentsError` where there are too many."""
        names = self.signature.names
        if len(args) > len(names):
            raise ArgumentsError(f"{self.name!r} takes {count(len(names), 'argument')}, not {len(args)}. {self._usage}")
        given = dict(zip(names, args, strict=False))
        twice = sorted(given.keys() & kwargs.keys())
        if twice:
            raise ArgumentsError(f"wrong arguments for {self.name!r}: {twice[0]!r} was given twice. {self._usage}")
        return {**given, **kwargs}

    def validated(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Give the arguments as the function takes them; raise `ArgumentsError` where they do not fit."""
        names = self.signature.names
        others = {name: value for name, value in arguments.items() if name not in names}
        refused = [name for name in others if not self.signature.open_ended or name in self._filled]
        problems = [f"unknown {name!r}" for name in refused]
        known = {name: value for name, value in arguments.items() if name in names}
        model: BaseModel | None = None
        try:
            model = self._model.model_validate(known)
        except ValidationError as error:
            problems += [_problem(detail) for detail in error.errors(include_url=False, include_context=False)]
        if problems or model is None:
            raise ArgumentsError(f"wrong arguments for {self.name!r}: {'; '.join(problems)}. {self._usage}")
        given: dict[str, Any] = {}
        for index, parameter in enumerate(self.signature.parameters):
            if parameter.name in known:
                given[parameter.name] = getattr(model, f"argument_{index}")
            elif parameter.kind is parameter.POSITIONAL_ONLY:
                given[parameter.name] = parameter.default
        return {**given, **others}

    @property
    def _usage(self) -> str:
        names = [f"{one.name} (required)" if is_required(one) else one.name for one in self.signature.parameters]
        if self.signature.open_ended:
            names.append("any other")
        return f"It takes: {', '.join(names) or 'no arguments'}"

    @cached_property
    def _model(self) -> type[BaseModel]:
        """The arguments as a model; fields have names of ours, since a parameter may be called `copy` or `_id`."""
        _, texts = split_docstring(self.function.__doc__)
        parameters = self.signature.parameters
        told = tuple(texts.get(parameter.name) or "" for parameter in parameters)
        try:
            build = _shared_model if all(map(_is_plain, parameters)) else _model
            return build(self.name, parameters, told, self.signature.open_ended)
        except PydanticUserError as error:
            why = error.message.partition(". ")[0]  # what follows is for who writes pydantic's models
            hint = "a tool gets the suite's state as `state`, its context as `context`; arguments are of JSON's types"
            text = f"tool {self.name!r}: its types cannot be validated: {why}"
            raise EnvironmentFaultError(with_hint(text, hint)) from error


def _returned(annotation: Any) -> dict[str, Any] | None:
    """Give the JSON Schema of what a function is declared to return, None where that names no fields."""
    if not _names_fields(annotation):
        return None
    try:
        return TypeAdapter(annotation).json_schema(mode="serialization", schema_generator=_Quiet)
    except PydanticUserError:
        return None


def _names_fields(annotation: Any) -> bool:
    return (
        is_typeddict(annotation)
        or is_dataclass(annotation)
        or (isinstance(annotation, type) and issubclass(annotation, BaseModel))
        or any(map(_names_fields, get_args(annotation)))
    )


def tools_of(
    module: ModuleType,
    *,
    requestor: Requestor = "assistant",
    prefix: str = "",
    lists: KindLists = NO_LISTS,
    filled: tuple[str, ...] = INJECTED,
) -> list[PythonTool]:
    """Give a module's tools: what its `TOOLS` list holds, else the public functions that it defines, in order.

    Raise `EnvironmentFaultError` where there is none, where two have one name, or where one cannot be a tool.
    """
    functions = getattr(module, "TOOLS", None)
    if functions is None:
        functions = [
            value
            for name, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
        ]
    functions = [*map(_function, functions)] if isinstance(functions, list | tuple) else functions
    if not isinstance(functions, list) or not all(map(callable, functions)):
        raise EnvironmentFaultError(f"{_file(module)}: TOOLS is {functions!r:.200}; it must be a list of functions")
    if not functions:
        raise EnvironmentFaultError(f"{_file(module)}: defines no public function and no TOOLS list, so no tools")
    try:
        tools = [PythonTool(one, requestor=requestor, prefix=prefix, lists=lists, filled=filled) for one in functions]
    except EnvironmentFaultError as error:
        raise EnvironmentFaultError(f"{_file(module)}: {error}") from error
    names: set[str] = set()
    for tool in tools:
        if tool.name in names:
            raise EnvironmentFaultError(f"{_file(module)}: two tools are named {tool.name!r}")
        names.add(tool.name)
    return tools


def _function(item: Any) -> Any:
    """Give the function of a framework's tool, which is none itself: LangChain's `@tool` keeps it as `func`."""
    inner = getattr(item, "func", None) or getattr(item, "coroutine", None)
    return inner if not callable(item) and callable(inner) else item


def _model(name: str, parameters: Sequence[Parameter], told: Sequence[str], open_ended: bool) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for index, (parameter, text) in enumerate(zip(parameters, told, strict=True)):
        options: dict[str, Any] = {"alias": parameter.name}
        if text:
            options["description"] = text
        default = ... if is_required(parameter) else parameter.default
        fields[f"argument_{index}"] = (parameter.annotation, Field(default, **options))
    return create_model(name, __config__=ConfigDict(extra="allow" if open_ended else "forbid"), **fields)


_shared_model = lru_cache(maxsize=1_000)(_model)
"""The same for parameters that nothing of a run hangs on: a module is executed anew in every run, and building a
validator takes longer than all calls of a conversation."""

_PLAIN = (str, int, float, bool, Any)


def _is_plain(parameter: Parameter) -> bool:
    """Tell whether a parameter has a plain type, and no default that equals one of another type (`1`, `True`)."""
    is_known = any(parameter.annotation is plain for plain in _PLAIN)
    return is_known and (is_required(parameter) or type(parameter.default) is str)


class _Quiet(GenerateJsonSchema):
    """Leaves out titles, which repeat the names, and defaults that JSON cannot hold."""

    ignored_warning_kinds = {"non-serializable-default", "skipped-choice"}

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Say no."""
        return False


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or module.__name__


def _problem(detail: ErrorDetails) -> str:
    place = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "missing":
        return f"missing {place!r}"
    if detail["type"] == "extra_forbidden":
        return f"unknown {place!r}"
    message = detail["msg"][:1].lower() + detail["msg"][1:]
    return f"{place!r}: {message}, found {shorten(repr(detail['input']), 80)}"


@lru_cache(maxsize=1_000)
def split_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """Give the description (without sections) and {parameter: its text}; whoever reads the text changes neither."""
    if not text or not text.strip():
        return "", {}
    import docstring_parser  # noqa: PLC0415 - only suites with Python tools need it

    try:
        read = docstring_parser.parse(text)
    except Exception:  # noqa: BLE001 - besides its ParseError, odd texts (`: :param`) make it raise whatever it trips over
        return inspect.cleandoc(text), {}
    parameters: dict[str, str] = {}
    for parameter in read.params:
        told = " ".join((parameter.description or "").split())
        for name in parameter.arg_name.split(","):  # NumPy describes several of one type at once
            parameters[name.strip().lstrip("*")] = told
    return (read.description or "").strip(), parameters


@dataclass(frozen=True, kw_only=True)
class LoadedTools:
    """Tools as described, the Python functions behind them (none for described tools) and their fresh modules."""

    toolset: Toolset
    functions: dict[tuple[Requestor, str], PythonTool]
    modules: tuple[ModuleType, ...]

    def forget(self) -> None:
        """Drop the fresh modules."""
        for module in self.modules:
            forget_module(module)
