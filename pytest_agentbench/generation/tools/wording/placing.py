"""Places that a task has for one value: what it makes is called so, what is searched for, which of several is meant.

Each gives the task with the value woven in, or None where there is no such place.
"""

import re

from pytest_agentbench.generation.tools.wording.agreeing import among, is_several, of_its_own
from pytest_agentbench.generation.tools.wording.nouns import speaks_of
from pytest_agentbench.generation.tools.wording.phrasing import contracted, with_article
from pytest_agentbench.generation.tools.wording.saying import Said
from pytest_agentbench.generation.tools.wording.tongue import Tongue
from pytest_agentbench.generation.tools.wording.trimming import WOVEN

HERE = WOVEN
"""Marks where something was woven in, until the line is done."""
_NAMES = ("name", "title")


def thing(match: re.Match[str], noun: str, the: str, said: Said, tongue: Tongue) -> str:
    """Name a thing by a value: `order TR-7`, `the town Brest`; a day is said alone, or is what the thing is for."""
    if said.is_date:
        day = with_article(said.text, tongue) if tongue.code == "fr" else said.text
        article = (match.groupdict().get("article") or the).strip()
        return day if noun.lower() in tongue.date_label else f"{article} {noun} {tongue.for_value.format(value=day)}"
    if said.by and not said.is_name:
        by = with_article(said.by, tongue)
        return contracted(f"{the} {tongue.thing_by.format(thing=noun, by=by, value=said.text)}", tongue)
    is_bare = tongue.code == "en" and re.search(r"[a-zà-ÿ]{2}", said.text) is None
    return f"{noun} {said.text}" if is_bare else f"{the} {noun} {said.text}"


def called(task: str, said: Said, tongue: Tongue) -> str | None:
    """Name what a task makes: `create a branch called autumn`."""
    made = tongue.made.match(task)
    words = said.label.lower().split()
    kind = words[0] if "of" in words else words[-1]
    if made is None or kind not in _NAMES or said.text.startswith('"'):
        return None
    if said.label != kind and made["noun"] not in (said.noun, *said.others):
        return None
    return f"{made[0]} {tongue.called.format(value=said.text)}{HERE}{task[made.end() :]}"


def queried(task: str, said: Said, tongue: Tongue) -> str | None:
    """Say what is searched for where a task goes by a search text: `search for notes matching tea`."""
    match = tongue.by_query.search(task)
    words = set(re.findall(r"\w+", f"{said.label} {' '.join(said.paths)}".lower()))
    if match is None or not words & (tongue.searching - tongue.identifying):
        return None
    return f"{task[: match.start()]} {tongue.matching.format(value=said.text)}{HERE}{task[match.end() :]}"


def one_of(task: str, said: Said, referred: str, tongue: Tongue) -> str | None:
    """Speak of one thing where a task speaks of several: `add notes to entities` becomes `to the entity Ada`."""
    match = among(task, said.noun) if said.is_identity and said.noun and tongue.code == "en" else None
    if match is None or HERE in match[0]:
        return None
    before = f"{match['before']} to" if match["before"] in tongue.towards else match["before"]
    return f"{task[: match.start()]}{before} {referred}{HERE}{of_its_own(task[match.end() :])}"


def several(task: str, said: Said, tongue: Tongue) -> str | None:
    """Name several of a thing behind the verb: `put seats aside` becomes `put seat B4 aside`."""
    noun = said.noun or said.label
    named = noun if is_several(noun) else f"{noun}s"
    match = re.search(tongue.bare_plural.format(noun=re.escape(named)), task)
    if match is None or tongue.code != "en" or (said.is_identity and (said.is_name or match["verb"] in tongue.towards)):
        return None
    return f"{match['verb']} {noun} {said.text}{HERE}{task[match.end() :]}"


def is_of_other(task: str, said: Said, tongue: Tongue) -> bool:
    """Whether an identifier is of a thing that a task does not speak of: the `bucket id` of a collection to create."""
    noun = said.noun.rsplit(maxsplit=1)[-1].lower() if said.is_identity and said.noun else ""
    return bool(noun) and noun not in tongue.marks and not speaks_of(task, noun)


def end_of(task: str) -> int:
    """Give where what is said behind a task stands: before a clause of its own, where nothing was woven into it."""
    place = task.find(", ")
    is_clause = (
        task.count(", ") == 1 and HERE not in task[place:] and not re.search(r" (?:and|or|et|ou) ", task[place:])
    )
    return place if place > 0 and is_clause else len(task)
