"""The forms in which a server can be asked for an answer of a given type, and which one each model understood."""

from typing import Literal, Protocol, runtime_checkable

Form = Literal["json_schema", "tool", "json"]

ALL_FORMS: tuple[Form, ...] = ("json_schema", "tool", "json")
"""From the one that binds the model most to the one that most servers have."""


class Forms:
    """What was learnt about the models of one provider."""

    def __init__(self) -> None:
        self._understood: dict[str, Form] = {}

    def to_try(self, model: str, wanted: Literal["auto"] | Form) -> tuple[Form, ...]:
        """Give the forms to try in order: the wanted one, else the one that worked before, else all."""
        if wanted != "auto":
            return (wanted,)
        known = self._understood.get(model)
        return (known,) if known is not None else ALL_FORMS

    def learn(self, model: str, form: Form) -> None:
        """Remember that the server took this form."""
        self._understood[model] = form


@runtime_checkable
class KnowsForms(Protocol):
    """A chat that remembers which form its provider takes."""

    forms: Forms
