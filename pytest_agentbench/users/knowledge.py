"""What a scripted user knows, and what of it a message of the agent asks for."""

from collections.abc import Sequence

from pytest_agentbench.core.ids import clipped, named_values
from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.spoken import plain
from pytest_agentbench.core.transcript import Message, agent_messages
from pytest_agentbench.suites.language import Language
from pytest_agentbench.users.values import Fact, Heard, Wants


class Knowledge:
    """The facts of one user, and which of them it has `given`."""

    def __init__(self, facts: Sequence[Fact], expected: Sequence[ExpectedCall], language: Language) -> None:
        """`expected` are the agent's calls, whose values a user may have said without knowing them as facts."""
        self.facts = tuple(facts)
        self.given: set[str] = set()
        self._expected = expected
        self._language = language
        self._locale = language.locale

    @property
    def names(self) -> list[str]:
        """All names by which an agent may ask for something."""
        return [name for one in self.facts for name in one.names]

    def asked(self, messages: Sequence[Message], heard: Heard) -> list[Fact]:
        """Give the facts that a message names.

        One that was stated before is given again only to a question that is about nothing else, by all of its name. The
        second of a name is not asked for where the message states the first.
        """
        named = [
            fact
            for fact in self.facts
            if fact.is_asked(heard.text, self._language, loosely=heard.asks) and (heard.asks or not fact.is_bare)
        ]
        stems = {fact.stem for fact in self.facts if fact.is_stated(heard.text, self._locale)}
        found = [fact for fact in named if fact.stem not in stems]
        said = [message.text for message in messages]
        is_alone = heard.asks and not (heard.stated or heard.contradicted)

        def is_due(fact: Fact) -> bool:
            is_old = fact.name in self.given or any(fact.is_stated(one, self._locale) for one in said)
            return not is_old or (is_alone and fact.is_asked(heard.text, self._language, loosely=False))

        return [fact for fact in found if is_due(fact)]

    def chosen(self, messages: Sequence[Message], heard: Heard) -> list[Fact]:
        """Give the facts that a question names and states, and that nobody spoke of before, where it is about them.

        A yes would be no answer to "Which plan: mini, midi or maxi?"; a value also answers "Plan: maxi, shall I?".
        """
        if not heard.asks:
            return []
        said = [message.text for message in messages[:-1]]
        found = [
            fact
            for fact in self.facts
            if self._language.names(fact.names, heard.text)
            and fact.is_stated(heard.text, self._locale)
            and self._is_new(fact, said)
        ]
        values = {plain(str(fact.value)) for fact in found}
        return found if all(plain(str(one.value)) in values for one in heard.matter) else []

    def needed(self, messages: Sequence[Message]) -> list[Fact]:
        """Give the facts that expected calls take and nobody stated yet."""
        values = {plain(str(value)) for call in self._expected for _, value, _ in named_values(call.arguments)}
        said = [message.text for message in messages]
        return [fact for fact in self.facts if plain(str(fact.value)) in values and self._is_new(fact, said)]

    def said_before(self, heard: Heard, messages: Sequence[Message], wants: Wants, *, loosely: bool) -> list[Fact]:
        """Give the values of expected calls that a question names, that the user had said, and the agent never did.

        An agent that spoke of a value has heard it. Nor does "Shall I go on with your order?" ask for the order id,
        unless the agent insists.
        """
        said = [clipped(message.text) for message in messages if message.role == "user"]
        heard_of = agent_messages(messages)
        named = [(name, value) for call in self._expected for name, value, _ in named_values(call.arguments)]
        named += [(one.name, one.value) for one in wants if one.name]
        facts = {name: Fact(name, value, (name,)) for name, value in named}
        return [
            fact
            for fact in facts.values()
            if fact.is_asked(heard.text, self._language, loosely=loosely)
            and any(fact.is_stated(text, self._locale) for text in said)
            and not any(fact.is_stated(text, self._locale) for text in heard_of)
        ]

    def _is_new(self, fact: Fact, said: Sequence[str]) -> bool:
        return fact.name not in self.given and not any(fact.is_stated(one, self._locale) for one in said)
