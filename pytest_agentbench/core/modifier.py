"""Modifiers: ways in which an LLM-backed simulated user behaves, as suites and scenarios ask for them."""

from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import model_serializer, model_validator

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.file_models import Becomes, Choice, Filled, Holds, OneOf, Positive, Says, Written

ModifierName = Literal[
    "forgets_identifier", "wrong_value_first", "changes_mind", "adds_intent", "impatient", "out_of_scope"
]

MODIFIER_NAMES: tuple[ModifierName, ...] = get_args(ModifierName)


class ModifierSpec(Model):
    """One modifier that was asked for, with its options; written as `name` or as `{name: {option: value}}`."""

    name: Annotated[ModifierName, Choice()]
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, dict) and len(value) == 1 and "name" not in value:
            ((name, options),) = value.items()
            return {"name": name, "options": {} if options is None else options}
        return value

    @model_serializer(mode="plain")
    def _short_form(self) -> Any:
        return {self.name: self.options} if self.options else self.name


_Which = Annotated[
    Filled, Says("the name of the value it is about, such as order_id; chosen by the seed where not given")
]


class _OfIdentifier(Written):
    expected: ClassVar[str] = "{which: order_id}"

    which: _Which | None = None


class _ChangesMind(Written):
    expected: ClassVar[str] = "{which: the argument of an expected call}"

    which: _Which | None = None


class _AddsIntent(Written):
    expected: ClassVar[str] = '{at: 3, intent: "…"}'

    at: (
        Annotated[Positive, Says("a whole number, 1 or more: the agent's message that the user answers with it")] | None
    ) = None
    intent: Annotated[Filled, Says("what else the user wants, in words")] | None = None


class _Impatient(Written):
    expected: ClassVar[str] = "an empty mapping"


class _OutOfScope(Written):
    expected: ClassVar[str] = '{ask: "…"}'

    ask: Annotated[Filled, Says("what the user asks, in words")] | None = None


class ModifierByName(Written):
    """A modifier with its options: `{adds_intent: {at: 3, intent: …}}`."""

    expected: ClassVar[str] = "a modifier with options: {adds_intent: {at: 3, intent: …}}"
    one_key: ClassVar[bool] = True

    forgets_identifier: _OfIdentifier | None = None
    """The user does not have an identifier at hand at first."""
    wrong_value_first: _OfIdentifier | None = None
    """The user gives a wrong value first, and corrects it."""
    changes_mind: _ChangesMind | None = None
    """The user changes its mind about a value."""
    adds_intent: _AddsIntent | None = None
    """The user wants something else besides."""
    impatient: _Impatient | None = None
    """The user is impatient."""
    out_of_scope: _OutOfScope | None = None
    """The user asks for something that is not the agent's business."""


def _spec(written: str | ModifierByName) -> ModifierSpec:
    if isinstance(written, str):
        return ModifierSpec.model_validate(written)
    return ModifierSpec.model_validate(written.model_dump(exclude_unset=True))


WrittenModifier = Annotated[
    ModifierSpec,
    Becomes(
        Annotated[
            Annotated[ModifierName, Choice()] | ModifierByName,
            OneOf(f"a modifier or {{modifier: {{option: value}}}}; modifiers: {', '.join(MODIFIER_NAMES)}"),
        ],
        _spec,
    ),
]
Modifiers = Annotated[
    tuple[WrittenModifier, ...], Holds('a list of modifiers such as [impatient, {adds_intent: {at: 3, intent: "…"}}]')
]
"""`modifiers` of a suite's `user` and of a scenario."""
