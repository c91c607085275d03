"""What a modifier comes to in one scenario: what the user is told, what it loses, what it says first."""

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.modifier import ModifierName
from pytest_agentbench.llm.templates import Templates

_VERSION = "v2"
"""The version of the instructions; recorded answers belong to the one that they were given to."""

_PROMPTS = Templates("pytest_agentbench.users.modifiers")


class Swap(Model):
    """A value that is said first, and the scenario's own that takes its place; `label` names what they are."""

    label: str
    first: str
    right: str


class Behaviour(Model):
    """One modifier as it applies to one scenario.

    `instruction` is English text for the prompt, whatever language the user speaks. `forgets` are the values that the
    user does not have, `unknown` is what they are. `wrong` is what is said first and what it is corrected to. `intent`
    is what the user wants on top, `ask` what it asks beside the matter ("": what it likes). The instruction is in force
    from the agent's message `from_message` on (0: from the start). `held_back` is the line, or the item of the goal's
    list, that the intent is taken from. `nth` tells behaviours of one name apart.
    """

    name: ModifierName
    instruction: str
    forgets: tuple[str, ...] = ()
    unknown: str = ""
    wrong: tuple[Swap, ...] = ()
    intent: str = ""
    held_back: str = ""
    ask: str = ""
    from_message: int = 0
    nth: int = 1

    @property
    def label(self) -> str:
        """The name by which the user, and what is found of it, tells this behaviour from others."""
        return self.name if self.nth == 1 else f"{self.name}_{self.nth}"

    @property
    def may_say(self) -> tuple[str, ...]:
        """The texts that the user may say although its view does not hold them."""
        return tuple(filter(None, (*(swap.first for swap in self.wrong), self.intent, self.ask)))


def instruction(name: ModifierName, /, **values: str) -> str:
    """Fill the instruction of a modifier."""
    return _PROMPTS.render(f"{name}.{_VERSION}", values)
