"""Questions that offer a choice ("card or PayPal?"), answered where the user's own words name one of the options."""

import re
from functools import cache

from pytest_agentbench.core.conversation import View
from pytest_agentbench.core.values import to_json
from pytest_agentbench.users.confirmation import content_words
from pytest_agentbench.users.known_info import text_of
from pytest_agentbench.users.phrases import LANGUAGES, pattern
from pytest_agentbench.users.segments import clip, segments
from pytest_agentbench.users.shapes import methods

_OR = re.compile(r"\b(?:or|ou)\b", re.IGNORECASE)
_MOST_WORDS = 6
_MOST_OPTIONS = 12


def options(text: str) -> tuple[str, ...]:
    """Give the options of the last question of `text` that offers some: around its *or*, else the list items."""
    parts = segments(text)
    for segment in reversed(parts):
        if segment.question and not segment.item and _OR.search(segment.text):
            found = _around_or(pattern("closers").sub(" ", segment.text))
            if len(found) > 1:
                return found
    items = tuple(segment.text.rstrip(" .?*") for segment in parts if segment.item)
    asks = any(segment.question and not segment.item and pattern("which_one").search(segment.text) for segment in parts)
    return items[:_MOST_OPTIONS] if asks and len(items) > 1 else ()


def choose(text: str, view: View) -> str | None:
    """Give the one option of `text` that the goal, the lines or the known values name; None where not exactly one."""
    offered = options(text)
    if not offered:
        return None
    ours = "\n".join([view.goal, *view.says, view.known_info, view.task_instructions])
    ours += "\n" + "\n".join(text_of(to_json(value)) for value in view.knows.values())
    wanted, paid = content_words(clip(ours)), methods(clip(ours))
    named = [option for option in offered if methods(option) & paid]
    if not named and not any(methods(option) for option in offered):
        words = {option: content_words(option) for option in offered}
        shared = set.intersection(*words.values())
        named = [option for option in offered if (words[option] - shared) & wanted]
    return named[0] if len(named) == 1 else None


@cache
def _separators() -> re.Pattern[str]:
    return re.compile("|".join(language.option_split for language in LANGUAGES), re.IGNORECASE)


def _around_or(question: str) -> tuple[str, ...]:
    parts = [part.strip(" ?.!:*") for part in _separators().split(question)]
    parts = [part for part in parts if part]
    if len(parts) < 2:
        return ()
    lead = pattern("option_lead").match(parts[0])
    parts[0] = parts[0][lead.end() :].strip() if lead else parts[0]
    return tuple(part for part in parts if part and len(part.split()) <= _MOST_WORDS)[:_MOST_OPTIONS]
