"""One thing is spoken of as one: tools that take lists describe several (`create entities`), a user mostly has one."""

import re
from collections.abc import Iterable

from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.tools.wording.tongue import Tongue

_QUANTIFIED = r"(?:(?:the|all|some|any|several|many) )?"
_ADJECTIVES = r"(?P<adjectives>(?:(?:new|more|further|additional|other) )*)"
_BEFORE = r"(?P<before>^[\w-]+|\b(?:to|from|of|for|in|on|with|by|into|about|between)) "


PLURALS = (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"))
"""Endings of several that are more than an `s`, with those of one, in English."""


def singular(noun: str) -> str:
    """Give one of what an English noun names several of: `entities`, `boxes`, `rooms`; others stay."""
    for ending, instead in PLURALS:
        if noun.endswith(ending) and len(noun) > len(ending) + 1:
            return noun[: -len(ending)] + instead
    return noun[:-1] if is_several(noun) and len(noun) > 2 else noun


def is_several(noun: str) -> bool:
    """Whether an English noun names several by its ending."""
    return noun.endswith("s") and not noun.endswith(("ss", "us", "is"))


def plural(noun: str) -> str:
    """Give several of what an English noun names."""
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def of_one(task: str, paths: Iterable[str], tongue: Tongue) -> str:
    """Ask for one thing where lists of arguments have one entry each: `create a new entity`.

    Only the thing that the request is for is counted, and only where a list is named after it.
    """
    if tongue.code != "en":
        return task
    lists = {humanize(path.split(".*")[0].rsplit(".", 1)[-1]) for path in paths if ".*" in path}
    for name in sorted(lists):
        match = re.match(rf"(?P<verb>[\w-]+) {_QUANTIFIED}{_ADJECTIVES}{re.escape(name)}\b", task)
        one = singular(name)
        if match is not None and one != name:
            what = f"{match['adjectives']}{one}"
            article = "an" if what[0] in "aeiou" else "a"
            return f"{match['verb']} {article} {what}{task[match.end() :]}"
    return task


def among(task: str, noun: str) -> re.Match[str] | None:
    """Find where a task speaks of things of a kind, of which one is meant: `to entities`, `delete entities`."""
    return re.search(rf"{_BEFORE}{_QUANTIFIED}(?:existing |specific )?{re.escape(plural(noun))}\b", task)


def of_its_own(rest: str) -> str:
    """Let what follows one thing be its own: `and their relations` becomes `and its relations`."""
    return re.sub(r"^( and(?: all)?) their\b", r"\1 its", rest)
