"""The concept graph of a conversation as one HTML file that needs nothing else: node size is frequency."""

import html
import math
from collections.abc import Iterator

from notes.memory.conceptual import ConceptualMemory

MOST = 60
"""Concepts that are drawn; more are a blot."""

SIZE = 900
"""Width and height of the drawing, in pixels."""

_STEPS = 150
"""Rounds of the layout; it has settled long before for this many nodes."""

_STYLE = """
body{font:14px system-ui,sans-serif;margin:1.5rem;color:#222;background:#fff}
svg{max-width:100%;height:auto;border:1px solid #ddd}
line{stroke:#9ab;stroke-opacity:.5}
circle{fill:#4878a8;fill-opacity:.8}
text{font-size:12px;text-anchor:middle}
table{border-collapse:collapse;margin-top:1rem}
td,th{border:1px solid #ddd;padding:.2rem .6rem;text-align:left}
@media (prefers-color-scheme:dark){body{background:#181a1b;color:#ddd}text{fill:#ddd}svg,td,th{border-color:#444}}
"""


def draw(memory: ConceptualMemory) -> str:
    """Give the page: the graph, and the same as a table for who cannot see it. Nothing in it runs or is loaded."""
    ranked = sorted(memory.frequency.items(), key=lambda item: (-item[1], item[0]))[:MOST]
    nodes = dict(ranked)
    edges = {pair: count for pair, count in sorted(memory.together.items()) if pair[0] in nodes and pair[1] in nodes}
    places = _laid_out(list(nodes), edges)
    lines = "".join(_line(places[one], places[other], count) for (one, other), count in edges.items())
    circles = "".join(_node(memory.names[name], count, places[name]) for name, count in nodes.items())
    rows = "".join(_row(memory, name, count) for name, count in nodes.items())
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Concepts</title><style>{_STYLE}</style>\n<h1>Concepts of the conversation</h1>\n"
        f"<p>{len(nodes)} of {len(memory.frequency)} concepts; the size is how often each was spoken of, a line joins "
        f"what was spoken of together.</p>\n"
        f'<svg viewBox="0 0 {SIZE} {SIZE}" width="{SIZE}" height="{SIZE}" role="img" aria-label="Graph of concepts">'
        f"{lines}{circles}</svg>\n<table><tr><th>concept<th>times<th>together with</tr>\n{rows}</table></html>\n"
    )


def _laid_out(names: list[str], edges: dict[tuple[str, str], int]) -> dict[str, tuple[float, float]]:
    """Place the nodes: a circle at first, then joined ones draw together and all push apart (Fruchterman-Reingold)."""
    count = max(len(names), 1)
    places = {
        name: (math.cos(2 * math.pi * number / count), math.sin(2 * math.pi * number / count))
        for number, name in enumerate(names)
    }
    ideal = 1.6 / math.sqrt(count)
    for step in range(_STEPS):
        forces = dict.fromkeys(names, (0.0, 0.0))
        for number, one in enumerate(names):
            for other in names[number + 1 :]:
                strength = ideal * ideal / _distance(places[one], places[other])
                if (one, other) in edges or (other, one) in edges:
                    strength -= _distance(places[one], places[other]) ** 2 / ideal
                _push(forces, places, one, other, strength)
        most = 0.1 * (1 - step / _STEPS)
        for name, (x, y) in forces.items():
            length = math.hypot(x, y) or 1.0
            by = min(length, most) / length
            places[name] = (places[name][0] + x * by, places[name][1] + y * by)
    return _scaled(places)


def _push(
    forces: dict[str, tuple[float, float]],
    places: dict[str, tuple[float, float]],
    one: str,
    other: str,
    strength: float,
) -> None:
    dx, dy = places[one][0] - places[other][0], places[one][1] - places[other][1]
    by = strength / _distance(places[one], places[other])
    forces[one] = (forces[one][0] + dx * by, forces[one][1] + dy * by)
    forces[other] = (forces[other][0] - dx * by, forces[other][1] - dy * by)


def _distance(one: tuple[float, float], other: tuple[float, float]) -> float:
    return max(math.dist(one, other), 0.01)


def _scaled(places: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    margin = 60
    wide = [list(_axis(places, axis)) for axis in (0, 1)]
    spans = [
        (min(values, default=0.0), (max(values, default=1.0) - min(values, default=0.0)) or 1.0) for values in wide
    ]
    inner = SIZE - 2 * margin
    return {
        name: (margin + inner * (x - spans[0][0]) / spans[0][1], margin + inner * (y - spans[1][0]) / spans[1][1])
        for name, (x, y) in places.items()
    }


def _axis(places: dict[str, tuple[float, float]], axis: int) -> Iterator[float]:
    return (place[axis] for place in places.values())


def _line(one: tuple[float, float], other: tuple[float, float], count: int) -> str:
    return (
        f'<line x1="{one[0]:.1f}" y1="{one[1]:.1f}" x2="{other[0]:.1f}" y2="{other[1]:.1f}" '
        f'stroke-width="{min(1 + count, 8)}"/>'
    )


def _node(name: str, count: int, place: tuple[float, float]) -> str:
    size = 5 + 5 * math.sqrt(count)
    label = html.escape(name)
    return (
        f'<g><title>{label}: {count}</title><circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{size:.1f}"/>'
        f'<text x="{place[0]:.1f}" y="{place[1] - size - 3:.1f}">{label}</text></g>'
    )


def _row(memory: ConceptualMemory, name: str, count: int) -> str:
    related = ", ".join(memory.related(memory.names[name]))
    return f"<tr><td>{html.escape(memory.names[name])}<td>{count}<td>{html.escape(related)}</tr>\n"
