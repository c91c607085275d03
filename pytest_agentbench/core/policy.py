"""Policies: the rules an agent must keep."""

from typing import Annotated, Any, ClassVar

from pydantic import Field, WithJsonSchema

from pytest_agentbench.core.file_models import Filled, Holds, Named, Names, Says, Text, Whole, Written

ONE_OPERATOR = "exactly one of before, never, only, confirm_before, only_if, at_most, when (with then), all, any"
"""What a rule is, in words."""

WrittenRule = Annotated[
    dict[str, Any], Holds(f"a rule: a mapping with {ONE_OPERATOR}"), WithJsonSchema({"x-definition": "RuleForm"})
]
"""The rule of a policy, whose own form is described with the rules."""


class Policy(Written):
    """A rule the agent must keep; `tools` and `source` are for those who review it, no verdict depends on them."""

    expected: ClassVar[str] = "a policy: {id: …, text: …, challenge: 1 to 5, category: …}"
    nullable: ClassVar[frozenset[str]] = frozenset({"challenge", "rule"})

    id: Annotated[Named, Says("the name of the policy, unique in the suite")]
    """The name of the policy, unique in the suite."""
    text: Annotated[Filled, Says("the rule in words")]
    """The rule in words."""
    challenge: Annotated[Whole, Field(ge=1, le=5), Says("a whole number from 1 to 5")] | None = None
    """How hard it is to keep, from 1 to 5."""
    category: Text = ""
    """What it is about, for the report."""
    rule: WrittenRule | None = None
    """The rule for the machine."""
    tools: Annotated[Names, Holds("a list of the tools that it concerns, for people")] = ()
    """The tools that it concerns, for people."""
    source: Annotated[Text, Says("the sentence of a document that rule and challenge were read from")] = ""
    """The sentence of a document that rule and challenge were read from."""
