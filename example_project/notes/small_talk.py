"""Messages that ask nothing: greetings and thanks."""

import re

from notes.text import fold, key_words

_GREETING = re.compile(r"^\W*(?:hello|hi|hey|good (?:morning|evening|afternoon)|bonjour|salut|bonsoir)\b")
_THANKS = re.compile(
    r"\b(?:thanks?|thank you|thx|cheers|bye|goodbye|merci|au revoir|that(?:'s| is| will be) all|c'est tout|perfect|"
    r"great|parfait|bonne journee)\b"
)
_WORDS = """
hello hi hey good morning evening afternoon bonjour salut bonsoir thanks thank thx cheers bye goodbye merci revoir
perfect great parfait bonne journee beaucoup help helpful everything needed nice day
"""
_SAID = frozenset(_WORDS.split())


def small_talk(message: str) -> str:
    """Give the phrase that answers a message without a question: `welcome`, `hello`, `unclear`; "" for any other."""
    if any(word not in _SAID for word in key_words(message)):
        return ""
    folded = fold(message)
    if _THANKS.search(folded):
        return "welcome"
    return "hello" if _GREETING.search(folded) else "unclear"
