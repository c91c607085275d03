"""Nouns in tasks and labels: what a task speaks of, what a label turns on, one or several."""

import re

from pytest_agentbench.generation.tools.wording.saying import Said


def head(one: Said) -> str:
    """Give the noun by which an argument is pointed at; what its label turns on where it identifies nothing."""
    if one.noun and (
        one.is_identity or one.label.startswith(one.noun) or not re.search(r" (?:of|de|du|des) ", one.label)
    ):
        return one.noun
    return (one.others[0] if one.others else "") or one.noun


def is_doubled(match: re.Match[str], task: str) -> bool:
    """Whether a task says `line by line`, which names nothing to go by."""
    return task[: match.start()].rstrip().endswith(match["by"].strip())


def article_and_noun(match: re.Match[str]) -> str:
    """Give a pattern of the noun that was found, with its article."""
    article = match.groupdict().get("article")
    noun = rf"(?P<noun>{re.escape(match['noun'])})\b"
    if article is None:
        return rf"(?:an?|the|one) {noun}"
    return rf"(?P<article>{re.escape(article)}) ?{noun}"


def speaks_of(task: str, noun: str) -> bool:
    """Whether a task is about things of a kind: `find free rooms` about a room."""
    last = noun.rsplit(maxsplit=1)[-1].lower() if noun.split() else ""
    stem = last[:-1] if last.endswith(("s", "y")) else last
    return bool(stem) and re.search(rf"\b{re.escape(stem)}(?:s|es|x|y|ies)?\b", task.lower()) is not None
