"""What a session tells of tools whose kind nothing says: what was seen of them, and what to write into the suite.

A call of unknown kind is neither read nor write where no state can be read, so scenarios would let an agent make it
twice; what was learnt from calling the tools should not be lost.
"""

from collections.abc import Iterator, Sequence

from pytest_agentbench.core.names import listing
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.tools.probing.safety import line_for
from pytest_agentbench.generation.tools.recruiting.pool import Pool
from pytest_agentbench.generation.tools.values import Cards, Cure

_WAYS: dict[Cure, str] = {
    "environment.reads": "nobody has declared what they do and nothing can be reset; if they only read, write",
    "environment.writes": "nobody has declared what they do and nothing can be reset; if they write, write",
    "generate.trust_annotations": "only the server says what they do, and nothing can be reset; if it is right, write",
    "generate.allow_writes": "they change what cannot be reset; if that may be, write",
    "generate.allow": "they may destroy what cannot be reset; if that may be, write",
}


def left_alone(cards: Cards) -> list[str]:
    """Give a line for each way in which tools that were left alone may be called; [] where all were called."""
    by_cure: dict[Cure, list[str]] = {}
    for card in cards.cards:
        if not card.called and card.cure:
            by_cure.setdefault(card.cure, []).append(card.tool)
    return [f"not called: {listing(tools)}; {_WAYS[cure]}: {line_for(cure, tools)}" for cure, tools in by_cure.items()]


def kinds_told(specs: Sequence[ToolSpec], cards: Cards, pool: Pool) -> list[str]:
    """Give lines that say which tools are of unknown kind, and the lists that settle it; [] where none is."""
    unknown = [spec.name for spec in specs if spec.kind == "unknown"]
    if not unknown:
        return []
    what = f"kind unknown: {listing(unknown)}; no state is read, so further calls of these fail no run. "
    return [what + "Write into `environment:` of the suite", *_lists(unknown, cards, pool), "and generate again"]


def _lists(unknown: Sequence[str], cards: Cards, pool: Pool) -> Iterator[str]:
    changed = {entry.tool for entry in pool.entries if entry.seen}
    made = {entry.tool for entry in pool.entries}
    known = {card.tool: card.writes for card in cards.cards}
    writes = [name for name in unknown if name in changed or known.get(name) is True]
    reads = [name for name in unknown if name not in writes and (name in made or known.get(name) is False)]
    rest = [name for name in unknown if name not in writes and name not in reads]
    if writes:
        yield f"  writes: [{', '.join(writes)}]  # calls of these changed what was there"
    if reads:
        yield f"  reads: [{', '.join(reads)}]  # calls of these were not seen to change anything: please check"
    if rest:
        yield f"  reads: […] or writes: […] with {listing(rest)}, of which no call worked"
