"""Languages in requests: `from English into French` where a call takes both, `into French` where it takes one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pytest_agentbench.generation._reading.kinds import humanize
from pytest_agentbench.generation.tools.values import Card
from pytest_agentbench.generation.tools.wording.phrasing import label_of, with_article
from pytest_agentbench.generation.tools.wording.saying import Said
from pytest_agentbench.generation.tools.wording.tongue import Tongue

Direction = Literal["", "from", "into"]


def direction_of(card: Card, path: str, tongue: Tongue) -> Direction:
    """Tell which of two languages an argument is by its own name, else by its label; "" where neither tells."""
    for text in (humanize(path), label_of(card, path, tongue)):
        said = set(text.lower().split())
        is_from, is_into = bool(said & tongue.from_language), bool(said & tongue.into_language)
        if is_from != is_into:
            return "from" if is_from else "into"
    return ""


def paired(every: Sequence[Said], card: Card, tongue: Tongue) -> list[Said]:
    """Say two languages at once, in the place of the first: from which one, and into which."""
    spoken = {direction_of(card, one.paths[0], tongue): one for one in every if one.is_language}
    source, target = spoken.get("from"), spoken.get("into")
    if source is None or target is None or sum(one.is_language for one in every) > 2:
        return [_alone(one, card, tongue) for one in every]
    names = [with_article(one.text, tongue) if tongue.code == "fr" else one.text for one in (source, target)]
    both = tongue.from_into.format(source=names[0], target=names[1])
    pair = replace(source, paths=(*source.paths, *target.paths), text=both, is_pair=True)
    first = next(one for one in every if one.is_language)
    return [pair if one is first else one for one in every if one is first or not one.is_language]


def _alone(said: Said, card: Card, tongue: Tongue) -> Said:
    """Say one language behind its preposition."""
    if not said.is_language:
        return said
    is_into = direction_of(card, said.paths[0], tongue) == "into"
    return replace(said, text=(tongue.into_one if is_into else tongue.in_language).format(value=said.text))
