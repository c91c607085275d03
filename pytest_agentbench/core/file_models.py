"""What people write into files: models that say in the words of the file what does not fit.

A field's type says in words what it is to be (`Says`, `Holds`, `OneOf`); its docstring says what it is for. Validation,
messages, JSON Schema and the tables of the documentation come from these alone.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from pytest_agentbench.core.base import LateModel, Model
from pytest_agentbench.core.errors import FormError
from pytest_agentbench.core.json_values import whole
from pytest_agentbench.core.misfit import Keys, Misfit, shown
from pytest_agentbench.core.names import listing, suggestion
from pytest_agentbench.core.wording import (
    TAG,
    as_list,
    lacks_one_of,
    meant,
    misfit,
    misfits_of,
    told_of,
    unexpected,
    unknown_key,
)

IN_FILE = {"in_file": True}
"""The context of a validation of what stands in a file, where a key may be left out and not be null."""


@cache
def _keys_of(model: "type[Written]") -> dict[str, str]:
    names = dict.fromkeys(name for one in model.__mro__ for name in inspect.get_annotations(one))
    fields = model.model_fields
    found = {fields[name].alias or name: name for name in names if name in fields}
    return {key: found[key] for key in (*model.first, *(key for key in found if key not in model.first))}


@cache
def _required_of(model: "type[Written]") -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in model.model_fields.items() if field.is_required())


@lru_cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def read_form(value: object, kind: Any, path: Keys = ()) -> tuple[Any, list[Misfit]]:
    """Give a value of a file as the model or type that describes it, and what does not fit; `path` leads to it."""
    try:
        return _adapter(kind).validate_python(value, context=IN_FILE), []
    except ValidationError as error:
        return None, misfits_of(error, path)


def form_misfits(value: object, kind: Any, path: Keys = ()) -> list[Misfit]:
    """Give what keeps a value of a file from being what a model or type describes; `path` leads to it."""
    return read_form(value, kind, path)[1]


@dataclass(frozen=True)
class Says:
    """Says in words what a single value is to be."""

    words: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Put the words in place of whatever pydantic has to say."""
        inner = handler(source)
        context: dict[str, Any] = {"words": self.words}
        if get_origin(source) is None and source in (str, bool):
            context["kind"] = source.__name__
            plain: Any = inner
            while "schema" in plain:
                plain = plain["schema"]
            context["pattern"] = plain.get("pattern", "")
        return core_schema.custom_error_schema(
            inner, custom_error_type="expected", custom_error_message="{words}", custom_error_context=context
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the value by the words; what ends with the text is `$` there."""
        found = handler(schema)
        if "pattern" in found:
            found["pattern"] = found["pattern"].replace(r"\Z", "$")
        return {**found, "description": self.words}


@dataclass(frozen=True)
class Choice:
    """One of a few values, those of a `Literal` unless given; the words say what they are for."""

    words: str = ""
    values: tuple[Any, ...] = ()

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """List the values where another one stands, and tell which was probably meant."""
        values = self.values or get_args(source)

        def check(value: Any) -> Any:
            if any(type(value) is type(one) and value == one for one in values):
                return value
            texts = [one for one in values if isinstance(one, str)]
            hint = suggestion(value, texts) if isinstance(value, str) else ""
            hint = hint or (meant(value) if True in values else "")
            raise misfit(f"found {shown(value)}, allowed: {listing(map(repr, values))}", hint)

        return core_schema.no_info_before_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the values by the words."""
        values = {"enum": list(self.values)} if self.values else {}
        return handler(schema) | values | ({"description": self.words} if self.words else {})


@dataclass(frozen=True)
class Holds:
    """Says in words what a list or a mapping is to be, and how many it holds; what is in it speaks for itself."""

    words: str
    least: int = 0
    most: int | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Check the container before what is in it."""
        kinds = (dict,) if (get_origin(source) or source) is dict else (list, tuple)

        def check(value: Any) -> Any:
            size = len(value) if isinstance(value, kinds) else -1
            if size < self.least or (self.most is not None and size > self.most):
                raise unexpected(value, self.words, as_list(value) if list in kinds else "")
            return value

        return core_schema.no_info_before_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the container by the words and its bounds."""
        found = {**handler(schema), "description": self.words}
        unit = "Properties" if found.get("type") == "object" else "Items"
        bounds = {f"min{unit}": self.least or None, f"max{unit}": self.most}
        return found | {key: value for key, value in bounds.items() if value is not None}


@dataclass(frozen=True)
class OneOf:
    """A union of which the value's type, or the keys that are there, tell the branch that is meant."""

    words: str
    form: Callable[[dict[str, Any]], int | PydanticCustomError] | None = None
    """Tells the branch of a mapping by itself, or what is wrong with it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Build a tagged union, whose branch is chosen before anything in it is looked at."""
        branches = [_Branch.of(kind) for kind in get_args(source)]
        choices = {f"{TAG}{at}": handler.generate_schema(kind) for at, kind in enumerate(get_args(source))}

        def choose(value: Any) -> int | Exception | None:
            return self.form(value) if self.form and isinstance(value, dict) else _chosen(value, branches)

        def check(value: Any) -> Any:
            chosen = choose(value)
            if isinstance(chosen, Exception):
                raise chosen
            if chosen is None:
                is_flag = any(True in branch.values for branch in branches)
                raise unexpected(value, self.words, meant(value) if is_flag else "")
            return value

        union = core_schema.tagged_union_schema(choices, discriminator=lambda value: f"{TAG}{choose(value)}")
        return core_schema.no_info_before_validator_function(check, union)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the union by the words."""
        return {**handler(schema), "description": self.words}


@dataclass(frozen=True)
class Becomes:
    """What is `written` becomes what the type says, by a function; where that stands already it is left alone."""

    written: Any
    make: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Validate what is written, then turn it into what it means."""
        kind = get_origin(source) or source
        kind = kind if isinstance(kind, type) and kind is not UnionType else ()

        def read(value: Any, written: core_schema.ValidatorFunctionWrapHandler) -> Any:
            return value if isinstance(value, kind) else self.make(written(value))

        as_it_is = core_schema.plain_serializer_function_ser_schema(
            lambda value: value, return_schema=core_schema.any_schema()
        )
        written = handler.generate_schema(self.written)
        return core_schema.no_info_wrap_validator_function(read, written, serialization=as_it_is)


@dataclass(frozen=True, kw_only=True)
class _Branch:
    """A branch of a union: the Python types that it takes, the values, or the model with its keys."""

    types: tuple[type, ...] = ()
    values: tuple[Any, ...] = ()
    model: "type[Written] | None" = None

    @classmethod
    def of(cls, kind: Any) -> Self:
        while get_origin(kind) is Annotated:
            kind = next((one.written for one in get_args(kind) if isinstance(one, Becomes)), get_args(kind)[0])
        origin = get_origin(kind) or kind
        if origin is Literal:
            return cls(values=get_args(kind))
        if origin in (Union, UnionType):
            inner = [cls.of(one) for one in get_args(kind)]
            return cls(types=tuple({type_ for one in inner for type_ in (*one.types, *map(type, one.values))}))
        if isinstance(origin, type) and issubclass(origin, Written):
            return cls(types=(dict, origin), model=origin)
        more: dict[Any, tuple[type, ...]] = {list: (list, tuple), tuple: (list, tuple), float: (int, float)}
        return cls(types=more.get(origin, (origin,)))

    def takes(self, value: Any) -> bool:
        """Whether a value has the type of this branch, or is one of its values."""
        if self.values:
            return any(type(value) is type(one) and value == one for one in self.values)
        if int in self.types and isinstance(value, float) and value.is_integer():
            return True  # 4.0 is a whole number
        return isinstance(value, self.types) and (not isinstance(value, bool) or bool in self.types)


def _chosen(value: Any, branches: list[_Branch]) -> int | ValidationError | None:
    """Give the number of the branch that is meant, None where none is, or what is wrong in words."""
    fitting = [at for at, branch in enumerate(branches) if branch.takes(value)]
    if len(fitting) == 1 and not (isinstance(value, dict) and branches[fitting[0]].model):
        return fitting[0]
    if not isinstance(value, dict):
        texts = ([one for one in branch.values if isinstance(one, str)] for branch in branches)
        named = (at for at, several in enumerate(texts) if isinstance(value, str) and suggestion(value, several))
        return fitting[0] if fitting else next(named, None)
    models = [(at, branches[at].model) for at in fitting]
    whole = [at for at, model in models if model is not None and model.takes_keys_of(value)]
    if len(whole) == 1:
        return whole[0]
    ranked = [(at, _Likeness.of(value, model)) for at, model in models if model is not None]
    if not ranked:
        return fitting[0] if fitting else None
    best_at, best = max(ranked, key=lambda pair: pair[1].rank)
    if not best.shared and all(like.required for _, like in ranked):
        return None
    alike = [(at, like.lacking) for at, like in ranked if like.shared == best.shared]
    rivals = {lacking[0]: at for at, lacking in alike if len(lacking) == 1}
    if best.lacking and len(rivals) > 1 and all(len(lacking) <= 1 for _, lacking in alike):
        wanting = [model for at, model in models if model is not None and at in rivals.values()]
        is_open = any(model.is_open() for model in wanting)
        return lacks_one_of(rivals, value if not is_open else (), chain.from_iterable(one.keys() for one in wanting))
    return best_at


@dataclass(frozen=True)
class _Likeness:
    """How much a mapping is like a model: keys that it knows, and required ones that the mapping lacks."""

    shared: int
    exact: int
    lacking: tuple[str, ...]
    strange: int
    required: bool

    @classmethod
    def of(cls, value: dict[str, Any], model: "type[Written]") -> Self:
        keys, required = model.keys(), model.required_keys()
        shared = sum(key in keys or bool(suggestion(str(key), keys)) for key in value)
        unknown = [str(key) for key in value if key not in keys]
        lacking = tuple(
            key for key in required if key not in value and not any(suggestion(one, [key]) for one in unknown)
        )
        strange = 0 if model.is_open() else len(unknown)
        return cls(shared, sum(key in keys for key in value), lacking, strange, bool(required))

    @property
    def rank(self) -> tuple[int, int, int]:
        return self.shared, self.exact, -len(self.lacking) - self.strange


def _made(cls: Any, *args: Any, **fields: Any) -> Any:
    """Make a value in Python; raise `FormError` with all that does not fit, as a file would be told."""
    try:
        return type(Model).__call__(cls, *args, **fields)
    except ValidationError as error:
        raise FormError("\n".join(f"{cls.__name__}: {one}" for one in misfits_of(error))) from None


_InWords: Any = type("_InWords", (type(Model),), {"__call__": _made})  # pydantic's metaclass has no public name


class Written(LateModel, metaclass=_InWords):  # type: ignore[metaclass]  # made above, so that checkers see pydantic's own
    """A mapping in a file; `expected` describes it, `instead` says what to write for keys that it lacks or has
    not, under "" for any other.

    A key with the default None may be left out, and is null only where `nullable` names it. With `one_key` exactly one
    of the keys is there. `first` are keys that are told before the others.
    """

    model_config = ConfigDict(defer_build=True, regex_engine="python-re", hide_input_in_errors=True)

    expected: ClassVar[str] = "a mapping"
    instead: ClassVar[dict[str, str]] = {}
    nullable: ClassVar[frozenset[str]] = frozenset()
    one_key: ClassVar[bool] = False
    first: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def long_form(cls, value: Any) -> Any:
        """Give the mapping that a short form stands for; what is none comes back as it is."""
        return value

    @classmethod
    def keys(cls) -> dict[str, str]:
        """Give the names of the fields by the keys of the file, those of the bases last."""
        return _keys_of(cls)

    @classmethod
    def takes_keys_of(cls, value: dict[str, Any]) -> bool:
        """Whether a mapping has all the keys that are needed, and none that is not known."""
        keys = cls.keys()
        return all(key in value for key in cls.required_keys()) and (cls.is_open() or all(key in keys for key in value))

    @classmethod
    def resembles(cls, value: dict[str, Any]) -> bool:
        """Whether a mapping has a key of these, or one that was mistyped."""
        return _Likeness.of(value, cls).shared > 0

    @classmethod
    def required_keys(cls) -> tuple[str, ...]:
        """Give the keys that have to be there."""
        return _required_of(cls)

    @classmethod
    def is_open(cls) -> bool:
        """Whether keys that are no fields are taken, too."""
        return cls.model_config.get("extra") == "allow"

    @model_validator(mode="wrap")
    @classmethod
    def _in_words(cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """Say in words of the file what pydantic refuses."""
        if isinstance(value, cls):
            return handler(value)
        value = cls.long_form(value)
        if not isinstance(value, dict) or (cls.one_key and len(value) != 1):
            raise unexpected(value, cls.expected)
        nulls = list(cls._nulls(value)) if info.context is IN_FILE and None in value.values() else []
        # outside of files a key may say what it is without saying anything: "" for no address
        blank = set() if info.context is IN_FILE else {name for name in value if cls._is_blank(name, value[name])}
        try:
            made = handler({key: one for key, one in value.items() if key not in blank} if blank else value)
            made.model_fields_set.update(blank)
        except ValidationError as error:
            told = [*cls._worded(value, error), *nulls]
            raise ValidationError.from_exception_data(cls.__name__, told) from None
        if nulls:
            raise ValidationError.from_exception_data(cls.__name__, nulls)
        return made

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Give the schema of what a file may hold: no nulls in place of keys that are left out."""
        found = handler.resolve_ref_schema(handler(schema))
        for key, name in cls.keys().items():
            written = found.get("properties", {}).get(key, {})
            is_left_out = cls.model_fields[name].default is None and written.pop("default", None) is None
            if is_left_out and name not in cls.nullable and {"type": "null"} in written.get("anyOf", ()):
                (other,) = (one for one in written.pop("anyOf") if one != {"type": "null"})
                found["properties"][key] = {**other, **written}
        if cls.one_key:
            found |= {"minProperties": 1, "maxProperties": 1}
        return found

    @classmethod
    def _is_blank(cls, name: str, value: Any) -> bool:
        field = cls.model_fields.get(name)
        return field is not None and type(value) is type(field.default) and bool(value == field.default)

    @classmethod
    def _nulls(cls, value: dict[str, Any]) -> Iterator[InitErrorDetails]:
        for key, name in cls.keys().items():
            field = cls.model_fields[name]
            if key in value and value[key] is None and field.default is None and name not in cls.nullable:
                yield InitErrorDetails(type=unexpected(None, words_of(field)), loc=(key,), input=None)

    @classmethod
    def _worded(cls, value: dict[str, Any], error: ValidationError) -> Iterator[InitErrorDetails]:
        keys = cls.keys()
        for item in error.errors(include_url=False):
            where = item["loc"]
            told = item.get("ctx", {}) if item["type"] == "misfit" else told_of(item)
            if item["type"] == "extra_forbidden" and len(where) == 1:
                key = str(where[0])
                wrong = unknown_key(key, keys, cls.instead, is_bare=value.get(key, "") is None)
                told = {"message": wrong.message, "hint": wrong.hint, "at_key": True}
            elif item["type"] == "missing" and len(where) == 1:
                key, where = str(where[0]), ()
                # a mistyped key is told once, as the unknown key that it is
                if not cls.is_open() and any(one not in keys and suggestion(str(one), [key]) for one in value):
                    continue
                told = {"message": f"the key {key!r} is missing", "hint": cls.instead.get(key, "")}
            custom = PydanticCustomError("misfit", "{message}", {"hint": "", "at": (), "at_key": False, **told})
            yield InitErrorDetails(type=custom, loc=where, input=item["input"])


def words_of(field: Any) -> str:
    """Give the words that say what a field is to be."""
    return next(_words_in(Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation), "text")


def _words_in(kind: Any) -> Iterator[str]:
    if get_origin(kind) is Annotated:
        inner, *more = get_args(kind)
        inner = next((one.written for one in more if isinstance(one, Becomes)), inner)
        yield from (one.words for one in reversed(more) if isinstance(one, Says | Holds | OneOf | Choice))
        yield from _words_in(inner)
    elif isinstance(kind, type) and issubclass(kind, Written):
        yield kind.expected
    else:
        for part in get_args(kind):
            if part is not NoneType:
                yield from _words_in(part)


def _name(value: Any) -> Any:
    """Take a whole number for a name; 1.0 is none, since whoever means the text has to say so."""
    return str(whole(value)) if isinstance(value, int) else value


Text = Annotated[str, Says("text")]
Filled = Annotated[str, Field(pattern=r"\S"), Says("a text")]
Flag = Annotated[bool, Field(strict=True), Says("true or false")]
Whole = Annotated[int, BeforeValidator(whole), Says("a whole number")]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False), Says("a number")]

Positive = Annotated[Whole, Field(ge=1), Says("a whole number, 1 or more")]
Count = Annotated[Whole, Field(ge=0), Says("a whole number, 0 or more")]
Seconds = Annotated[Number, Field(gt=0), Says("seconds, more than 0")]
Share = Annotated[Number, Field(ge=0, le=1), Says("a share from 0 to 1")]

FileName = Annotated[Filled, Says("the path of a file")]
ImportPath = Annotated[str, Field(pattern=r"^[^\s:/]+:[^\s:/]+\Z"), Says("an import path such as package.module:name")]
Address = Annotated[str, Field(pattern=r"^https?://\S+\Z"), Says("an address such as https://host/v1")]
ToolName = Annotated[Filled, Says("the name of a tool")]
Named = Annotated[
    str,
    BeforeValidator(_name),
    Field(pattern=r"\S"),
    WithJsonSchema({"type": ["string", "integer"], "pattern": r"\S"}),
    Says("a name"),
]
"""A name, which may be written as a number."""

Names = Annotated[tuple[Text, ...], Holds("a list of names")]
Free = Annotated[dict[str, Any], Holds("a mapping")]
Headers = Annotated[dict[str, Text], Holds("a mapping of headers to texts")]
Variables = Annotated[dict[str, Text], Holds("a mapping of names to texts")]
