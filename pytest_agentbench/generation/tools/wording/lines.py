"""A user's line: what it asks for in one turn, call after call, and what it wants to be told."""

import itertools
from collections.abc import Sequence
from random import Random

from pytest_agentbench.generation.tools.wording.asides import sentences
from pytest_agentbench.generation.tools.wording.phrasing import contracted, task_of, with_article
from pytest_agentbench.generation.tools.wording.tongue import Tongue
from pytest_agentbench.generation.tools.wording.weaving import woven
from pytest_agentbench.generation.tools.wording.wishes import Wish, Woven


def request(wishes: Sequence[Wish], tongue: Tongue, random: Random, *, opens: bool, asks_for: str = "") -> str:
    """Give the user's line for calls that follow from each other; `asks_for` names what it wants to be told.

    Two calls make one sentence where the first leaves nothing to be said; the next ones begin others.
    """
    said = [woven(wishes[0], tongue)]
    said += [woven(wish, tongue, before=task_of(before.card, tongue)) for before, wish in itertools.pairwise(wishes)]
    if asks_for:
        told = tongue.tells.format(task=said[-1].task, what=with_article(asks_for, tongue))
        said[-1] = Woven(told, said[-1].asides)
    groups: list[list[Woven]] = []
    for one in said:
        if groups and len(groups[-1]) == 1 and not groups[-1][0].asides:
            groups[-1].append(one)
        else:
            groups.append([one])
    parts: list[str] = []
    for place, group in enumerate(groups):
        text = tongue.chain.format(first=group[0].task, second=group[1].task) if len(group) > 1 else group[0].task
        following = tongue.follows[-1 if place > 1 and place == len(groups) - 1 else (place - 1) % 2]
        asks = following if place else random.choice(tongue.asks if opens else tongue.asks_again)
        parts.append(asks.format(task=text))
        parts.append(sentences(group[-1].asides, tongue))
    return contracted(" ".join(part for part in parts if part), tongue)
