"""What a modifier comes to in one scenario: what the user is told, what it loses, what it says first."""

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.modifier import ModifierName


class Swap(Model):
    """A value that is said first, and the scenario's own that takes its place; both stand in the initial state.

    `label` names the value in the user's language: `order id`, `code postal`.
    """

    label: str
    first: str
    right: str


class Behaviour(Model):
    """One modifier as it applies to one scenario.

    `instruction` is English text for the prompt. `forgets` are the values that the user does not have, `kind` is what
    they are, `unknown` the sentence that says so. `wrong` is what is said first and what it is corrected to. `intent`
    is what the user wants on top, `ask` what it asks beside the matter. An instruction is in force from the agent's
    message number `from_message` (0: from the start). `held_back` is the part of goal, lines or instructions that is
    the intent and that the user does not see before. `language` is the code of the language that the user speaks.
    """

    name: ModifierName
    instruction: str
    language: str = "en"
    forgets: tuple[str, ...] = ()
    kind: str = ""
    unknown: str = ""
    wrong: tuple[Swap, ...] = ()
    intent: str = ""
    held_back: str = ""
    ask: str = ""
    from_message: int = 0

    @property
    def may_say(self) -> tuple[str, ...]:
        """Give the texts that the user may say although its view does not hold them."""
        said = (*(swap.first for swap in self.wrong), self.intent, self.ask)
        return tuple(text for text in said if text)
