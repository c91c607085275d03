"""What a session tells of tools whose kind nothing says: what was seen of them, and what to write into the suite.

A call of unknown kind is neither read nor write where no state can be read, so scenarios would let an agent make it
twice; what was learnt from calling the tools should not be lost.
"""

from collections.abc import Iterable, Sequence

from pytest_agentbench.core.names import listing
from pytest_agentbench.core.suite import EnvironmentSpec
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.tools.data_types import Card, Cards, Cure
from pytest_agentbench.generation.tools.probing.safety import Permission, line_for
from pytest_agentbench.generation.tools.recruiting.pool import Pool
from pytest_agentbench.generation.tools.world import how_to_reset

_WAYS: dict[Cure, str] = {
    "environment.reads": "Nothing can be reset, and nobody declares what they do. If they only read, write",
    "environment.writes": "Nothing can be reset, and nobody declares what they do. If they write, write",
    "generate.trust_annotations": "Nothing can be reset, and only the server says what they do. If it is right, write",
    "generate.allow_writes": "They change what cannot be reset: {how}. If they may be called all the same, write",
    "generate.allow": "They may destroy what cannot be reset: {how}. If they may be called all the same, write",
}


def left_alone(tools: Iterable[Card | Permission], environment: EnvironmentSpec) -> list[str]:
    """Give a line for each way in which tools that were left alone may be called; [] where all were called."""
    how = how_to_reset(environment)
    by_cure: dict[Cure, list[str]] = {}
    for one in tools:
        if not one.called and one.cure:
            by_cure.setdefault(one.cure, []).append(one.tool)
    return [
        f"not called: {listing(tools)}. {_WAYS[cure].replace('{how}', how)}: {line_for(cure, tools)}"
        for cure, tools in by_cure.items()
    ]


def seen_writing(specs: Sequence[ToolSpec], cards: Cards) -> list[str]:
    """Name the tools that changed the state when they were probed, and of which nobody declares what they do."""
    open_kinds = {
        spec.name for spec in specs if spec.kind == "unknown" or (spec.kind, spec.kind_from) == ("read", "name")
    }
    return [card.tool for card in cards.cards if card.writes is True and card.tool in open_kinds]


def kinds_told(specs: Sequence[ToolSpec], cards: Cards, pool: Pool) -> list[str]:
    """Say which tools are of unknown kind, with the line that settles it and what that is known from; [] for none."""
    unknown = [spec.name for spec in specs if spec.kind == "unknown"]
    if not unknown:
        return []
    changed = {entry.tool for entry in pool.entries if entry.seen}
    made = {entry.tool for entry in pool.entries}
    known = {card.tool: card.writes for card in cards.cards}
    writes = [name for name in unknown if name in changed or known.get(name) is True]
    reads = [name for name in unknown if name not in writes and (name in made or known.get(name) is False)]
    rest = [name for name in unknown if name not in writes and name not in reads]
    lists = [f"{key}: [{', '.join(names)}]" for key, names in (("reads", reads or rest), ("writes", writes)) if names]
    why = [
        f"calls of {listing(writes)} changed what was there" if writes else "",
        f"calls of {listing(reads)} were not seen to change anything: please check" if reads else "",
        f"no call of {listing(rest)} worked: add {'it' if len(rest) == 1 else 'them'} where you know better"
        if rest
        else "",
    ]
    what = f"kind unknown: {listing(unknown)}; no state is read, so further calls of these fail no run. "
    line = f"Write into the suite, and generate again: `environment: {{{', '.join(lists)}}}`"
    return [what + line, *(f"  {text}" for text in why if text)]
