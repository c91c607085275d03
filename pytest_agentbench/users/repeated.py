"""Whether the agent asks a yes-or-no question again that the user has answered, and what the answer was."""

import re
from dataclasses import dataclass

from pytest_agentbench.users.confirmation import confirming_question, content_words
from pytest_agentbench.users.phrases import is_answer, pattern
from pytest_agentbench.users.script import Exchange
from pytest_agentbench.users.segments import clip

_CODE = re.compile(r"\w*\d\w*")
_SELF_CONTAINED = 2
"""Words of content, or codes, from which a question says by itself what it is about."""

_ALIKE = 0.75
"""Share of an earlier text's words that must come again; none may be new."""


@dataclass(frozen=True)
class _Asked:
    question: frozenset[str]
    whole: frozenset[str]
    codes: frozenset[str]


def answered_before(text: str, exchanges: tuple[Exchange, ...], next_line: str | None) -> str | None:
    """Give the user's last answer to the yes-or-no question that `text` asks, None where it is new or has none.

    A line that came back to the matter since, without a negation, takes the answer back; so does any line before a
    next line that is an answer. A bare "Do you confirm?" leaves a next line that is an answer to the script.
    """
    asked = _read(text)
    scripted = next_line is not None and is_answer(next_line)
    if not asked.whole and scripted:
        return None
    for exchange in reversed(exchanges):
        if is_answer(exchange.said):
            if exchange.heard and _same(asked, _read(exchange.heard)):
                return exchange.said
        elif exchange.is_line and (scripted or _takes_up(exchange.said, asked)):
            return None
    return None


def _takes_up(line: str, asked: _Asked) -> bool:
    return bool(_content(line) & asked.whole) and not pattern("negation").search(line)


def _read(text: str) -> _Asked:
    return _Asked(_content(confirming_question(text)), _content(text), _codes(text))


def _content(text: str) -> frozenset[str]:
    plain = pattern("confirmations").sub(" ", clip(text))
    return frozenset(content_words(pattern("fillers").sub(" ", plain))) | _codes(plain)


def _codes(text: str) -> frozenset[str]:
    return frozenset(code.lower() for code in _CODE.findall(clip(text)))


def _same(now: _Asked, before: _Asked) -> bool:
    if not now.codes <= before.codes:
        return False
    if len(now.question) >= _SELF_CONTAINED:
        return _alike(now.question, before.question)
    return _alike(now.question, before.question) and _alike(now.whole, before.whole)


def _alike(now: frozenset[str], before: frozenset[str]) -> bool:
    return now <= before and len(now) >= _ALIKE * len(before)
