"""How modifiers are written in suites and scenarios."""

from typing import Any

from pytest_agentbench.core.file_models import form_misfits
from pytest_agentbench.core.modifier import MODIFIER_NAMES, Modifiers, ModifierSpec
from pytest_agentbench.core.suite import UserSpec
from tests.tables import each


def test_names_and_options_are_read_and_written_back() -> None:
    """A name alone and a name with options come back as they were written."""
    forms: Any = ("impatient", {"adds_intent": {"at": 2, "intent": "Ask."}})

    user = UserSpec(modifiers=forms)

    assert user.modifiers[1] == ModifierSpec(name="adds_intent", options={"at": 2, "intent": "Ask."})
    assert user.model_dump()["modifiers"] == forms


@each("name", MODIFIER_NAMES)
def test_every_name_fits_with_and_without_options(name: str) -> None:
    """Each modifier is written as a name, or as a name with options."""
    assert not form_misfits([name, {name: {}}], Modifiers)


@each(
    ("form", "said"),
    [
        (["impatint"], "did you mean 'impatient'?"),
        ([{"adds_intnt": {}}], "did you mean 'adds_intent'?"),
        ([{"adds_intent": {"att": 3}}], "did you mean 'at'?"),
        ([{"adds_intent": {"at": 0}}], "found 0, expected a whole number, 1 or more"),
        ([3], "expected a modifier or {modifier: {option: value}}"),
        ([{"impatient": {}, "out_of_scope": {}}], "found a mapping with 'impatient', 'out_of_scope'"),
    ],
)
def test_what_does_not_fit_is_told(form: list[Any], said: str) -> None:
    """A mistyped name, option or value is told with what is allowed."""
    (found,) = form_misfits(form, Modifiers)

    assert said in str(found)
