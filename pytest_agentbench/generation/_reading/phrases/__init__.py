"""The languages the scripted user understands, as data, and the choice of the one it answers in."""

import re
from functools import cache

from pytest_agentbench.generation._reading.phrases.en import ENGLISH
from pytest_agentbench.generation._reading.phrases.fr import FRENCH
from pytest_agentbench.generation._reading.phrases.language import Language, either

LANGUAGES: tuple[Language, ...] = (ENGLISH, FRENCH)

_STOPWORDS = frozenset[str]().union(*(language.stopwords for language in LANGUAGES))
_WORD = re.compile(r"[^\W\d_]+")


@cache
def pattern(field: str) -> re.Pattern[str]:
    """Compile one pattern field of `Language` over all languages; several alternatives match as one."""
    parts: list[str] = []
    for language in LANGUAGES:
        value = getattr(language, field)
        parts.extend([value] if isinstance(value, str) else value)
    return either(*parts)


def language_of(*texts: str) -> Language:
    """Give the language with most stop words in the first text that has any; English when none has."""
    for text in texts:
        words = [word.lower() for word in _WORD.findall(text[:5000])]
        counts = [sum(word in language.stopwords for word in words) for language in LANGUAGES]
        if max(counts) > 0:
            return LANGUAGES[counts.index(max(counts))]
    return ENGLISH


def is_answer(line: str) -> bool:
    """Tell whether a line answers a yes-or-no question ("yes", "go ahead", "non, …")."""
    return bool(pattern("answers").match(line.strip()))


def is_stopword(word: str) -> bool:
    """Tell whether `word` carries no content in some language."""
    return word.lower() in _STOPWORDS


__all__ = ["LANGUAGES", "Language", "either", "is_answer", "is_stopword", "language_of", "pattern"]
