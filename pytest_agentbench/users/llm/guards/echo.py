"""Echo: the reply gives back the agent's last message, or says the user's own again instead of answering."""

import re
from collections import Counter
from difflib import SequenceMatcher

from pytest_agentbench.core.alike import alike
from pytest_agentbench.core.conversation import View
from pytest_agentbench.users.asked import asked
from pytest_agentbench.users.confirmation import content_words
from pytest_agentbench.users.known_info import values_in
from pytest_agentbench.users.llm.draft import Draft
from pytest_agentbench.users.llm.guards.heard import agent_texts, last_agent_text, user_texts

_WORD = re.compile(r"\w+")
_READ = 300
"""Words compared of each text, so that time is bounded."""

_WORDS = 8
"""Words from which a reply can be an echo: shorter ones ("yes, please cancel it") come again for good reasons."""

_RUN = 6
"""Words in a row that count as taken from the agent; a value or a name is shorter."""

_SHARE = 0.75
"""Share of the reply that is taken from the agent."""

_SAME = 0.9
"""Ratio from which two texts are the same, if no word that carries content differs."""

_OWN = 2
"""How many of the user's own last messages a reply must equal."""


def echo(view: View, draft: Draft) -> str | None:
    """Find a reply of eight words or more that is the agent's message for three quarters, or the own last one again.

    A person says the same again to whoever did not take it up, but not instead of a value asked for, nor a third time.
    It does so any number of times to who says the same again, too, or says nothing. The same request about something
    else is another one.
    """
    reply = _words(draft.text)
    if len(reply) < _WORDS:
        return None
    heard = last_agent_text(view)
    if _is_taken(reply, _words(heard)):
        return "it gives the agent's own message back; answer it in your own words instead"
    if _agent_repeats(view):
        return None
    *before, last = ("", *user_texts(view)[-_OWN:])
    if not _asks_the_same(reply, _words(last)):
        return None
    if (len(before) == _OWN and _asks_the_same(reply, _words(before[-1]))) or _withholds(draft.text, heard):
        return "it says your last message again; answer what the agent has said since"
    return None


def _withholds(reply: str, heard: str) -> bool:
    """Tell whether the agent asked for values of known kinds, and the reply holds none of them."""
    wanted = asked(heard)
    given = values_in(reply)
    return bool(wanted) and not any(kind in given for kind in (*wanted.kinds, *wanted.instead))


def _agent_repeats(view: View) -> bool:
    texts = agent_texts(view)
    if not last_agent_text(view).strip():
        return True
    return len(texts) > 1 and _alike(_words(texts[-1]), _words(texts[-2]))


def _is_taken(reply: list[str], source: list[str]) -> bool:
    """Tell whether `_SHARE` of `reply` stands in `source` in runs of words."""
    if _known(reply, source) / len(reply) < _SHARE or _in_both(reply, source) / len(reply) < _SHARE:
        return False
    blocks = SequenceMatcher(None, reply, source, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks if block.size >= _RUN) / len(reply) >= _SHARE


def _alike(left: list[str], right: list[str]) -> bool:
    """Tell whether two texts are the same; texts with different numbers never are."""
    if _values(left) != _values(right):
        return False
    return left == right or alike(left, right, _SAME)


def _asks_the_same(left: list[str], right: list[str]) -> bool:
    """Tell whether two texts are the same, and neither has a word with content in another one's place."""
    if not _alike(left, right):
        return False
    ours, theirs = content_words(" ".join(left)), content_words(" ".join(right))
    return not (ours - theirs and theirs - ours)


def _in_both(left: list[str], right: list[str]) -> int:
    """Count the words that both texts have, in whatever order: no runs of words in common can hold more."""
    return (Counter(left) & Counter(right)).total()


def _known(words: list[str], others: list[str]) -> int:
    """Count the words that the others hold at all, which is never less than `_in_both` and much quicker."""
    return sum(map(set(others).__contains__, words))


def _values(words: list[str]) -> list[str]:
    return [word for word in words if not word.isalpha() and any(char.isdigit() for char in word)]


def _words(text: str) -> list[str]:
    return list(map(str.lower, _WORD.findall(text)[:_READ]))
