"""What a session tells of tools whose kind nothing says: what was seen of them, and what to write into the suite.

A call of unknown kind is neither read nor write where no state can be read, so scenarios would let an agent make it
twice; what was learnt from calling the tools should not be lost.
"""

from collections.abc import Iterator, Sequence

from pytest_agentbench.core.names import listing
from pytest_agentbench.core.tool import ToolSpec
from pytest_agentbench.generation.tools.recruiting.pool import Pool
from pytest_agentbench.generation.tools.values import Cards


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
