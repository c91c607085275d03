"""What a user calls tools, arguments and values in its own language: by the suite's own texts, or by nothing.

Names of tools and columns are English in most services. An English user is given their words; a French one is given
what the descriptions say in French, never a name. Where they say nothing, the event is refused with the reason.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.policies.values import ExtractedPolicy
from pytest_agentbench.generation.tools.values import Card
from pytest_agentbench.generation.tools.wording.phrasing import contracted, language_of, name_of, task_of, with_article
from pytest_agentbench.generation.tools.wording.tongue_fr import FRENCH

_LOOKING = re.compile(r"^(?:get|fetch|read|show|retrieve|display|query)\b")
"""What tools that look something up begin with; a user would not say it so."""
_WORD = re.compile(r"[^\W\d_]+")
_TELLING = 3
"""Letters from which a word tells its language."""


class NoWordsError(Exception):
    """The suite has no words of the user's language for something that the user has to say."""


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Words of a suite in one language: `deeds` by tool, `names` by tool and argument, `known` in its texts at all.

    `plain` lets the words of names stand where nothing else is known: English ones, and drafts that a model rewords.
    """

    deeds: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[tuple[str, str], str] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    plain: bool = True

    def deed(self, tool: str) -> str:
        """Say what a tool does, as a request goes on; raise `NoWordsError`."""
        if found := self.deeds.get(tool):
            return found
        if self.plain:
            return _LOOKING.sub("look up", humanize(tool))
        raise NoWordsError(f"no text of the suite says in the user's language what {tool} does")

    def name(self, argument: str, tool: str = "") -> str:
        """Name an argument or a column; "" where the suite has no word for it."""
        if found := self.names.get((tool, argument)):
            return found
        return humanize(argument) if self.plain or self._says(argument) else ""

    def value(self, text: str) -> str:
        """Give a value as it is said: as it stands where the texts know its words, else as a quotation."""
        return text if self.plain or self._says(text) else f"« {text} »"

    def _says(self, name: str) -> bool:
        own = [word for word in _WORD.findall(humanize(name).lower()) if len(word) >= _TELLING]
        return bool(own) and all(word in self.known for word in own)


def vocabulary_of(tools: Sequence[ToolSpec], policies: Iterable[ExtractedPolicy], language: str) -> Vocabulary:
    """Gather the words that a suite's descriptions and policies have in a language; English needs none of them."""
    if language == "en":
        return Vocabulary()
    own = [tool for tool in tools if _is_french(tool.description)]
    names = {(tool.name, name): said for tool in own for name, said in _arguments(tool) if said}
    texts = [tool.description for tool in own]
    texts += [one.text for one in policies if language_of([one.text]) == language]
    known = frozenset(word for text in [*texts, *names.values()] for word in _WORD.findall(text.lower()))
    deeds = {tool.name: task_of(Card(tool=tool.name, declared_description=tool.description), FRENCH) for tool in own}
    return Vocabulary(deeds=deeds, names=names, known=known, plain=False)


def about(deed: str, label: str, value: str) -> str:
    """Put a value behind the thing that a French deed names: `annuler une commande` of `W1` is `… la commande W1`."""
    noun = label.rsplit(maxsplit=1)[-1] if label else ""
    found = re.search(rf"(?<!\w)(?:une?|les?|la|l['’]|mon|ma|votre) ?{re.escape(noun)}(?!\w)", deed) if noun else None
    if found is None:
        return f"{deed} ({label} {value})" if label else f"{deed} ({value})"
    said = contracted(f"{with_article(noun, FRENCH)} {value}", FRENCH)
    return contracted(deed[: found.start()] + said + deed[found.end() :], FRENCH)


def _arguments(tool: ToolSpec) -> Iterable[tuple[str, str]]:
    properties = tool.parameters.get("properties", {})
    for name, form in properties.items():
        described = form.get("description", "") if isinstance(form, Mapping) else ""
        if described and _is_french(described, otherwise=True):
            yield name, name_of(name, described, FRENCH)


def _is_french(text: str, *, otherwise: bool = False) -> bool:
    """Whether a description is French; `otherwise` where no small word tells."""
    if language_of([text]) == "fr":
        return True
    return otherwise and not re.search(r"\b(?:the|of|an?|to|and|for|by|with|in|on)\b", text.lower())
