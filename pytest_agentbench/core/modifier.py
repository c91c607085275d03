"""Modifiers: ways in which an LLM-backed simulated user behaves, as suites and scenarios ask for them."""

from typing import Any, Literal, get_args

from pydantic import model_serializer, model_validator

from pytest_agentbench.core.base import Model

ModifierName = Literal[
    "forgets_identifier", "wrong_value_first", "changes_mind", "adds_intent", "impatient", "out_of_scope"
]

MODIFIER_NAMES: tuple[ModifierName, ...] = get_args(ModifierName)


class ModifierSpec(Model):
    """One modifier that was asked for, with its options; written as `name` or as `{name: {option: value}}`."""

    name: ModifierName
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
