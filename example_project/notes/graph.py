"""The concept graph of a conversation as one HTML file that needs nothing else: node size is frequency."""

import html
import math

from notes.memory import ConceptMemory

MOST = 40
"""Concepts that are drawn; more are a blot."""

SIZE = 900
"""Width and height of the drawing, in pixels."""

_STYLE = """
body{font:14px system-ui,sans-serif;margin:1.5rem;color:#222;background:#fff}
svg{max-width:100%;height:auto}
line{stroke:#9ab;stroke-opacity:.5}
circle{fill:#4878a8;fill-opacity:.8}
text{font-size:12px;text-anchor:middle}
table{border-collapse:collapse;margin-top:1rem}
td,th{border:1px solid #ddd;padding:.2rem .6rem;text-align:left}
@media (prefers-color-scheme:dark){body{background:#181a1b;color:#ddd}text{fill:#ddd}td,th{border-color:#444}}
"""


def draw(memory: ConceptMemory) -> str:
    """Give the page: the concepts on a circle, and the same as a table for who cannot see it. Nothing in it runs."""
    counted = {concept: len(messages) for concept, messages in memory.index.items()}
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:MOST]
    places = {
        name: (SIZE / 2 + 0.38 * SIZE * math.cos(angle), SIZE / 2 + 0.38 * SIZE * math.sin(angle))
        for number, (name, _) in enumerate(ranked)
        for angle in [2 * math.pi * number / len(ranked)]
    }
    lines = "".join(
        _line(places[one], places[other], count)
        for (one, other), count in sorted(memory.together.items())
        if one in places and other in places
    )
    circles = "".join(_node(memory.names[name], count, *places[name]) for name, count in ranked)
    rows = "".join(
        f"<tr><td>{html.escape(memory.names[name])}<td>{count}<td>{html.escape(', '.join(memory.related(name)))}</tr>\n"
        for name, count in ranked
    )
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Concepts</title><style>{_STYLE}</style>\n<h1>Concepts of the conversation</h1>\n"
        f"<p>{len(ranked)} of {len(counted)} concepts. The larger a circle, the more messages speak of it; a line "
        f"joins concepts of one message.</p>\n"
        f'<svg viewBox="0 0 {SIZE} {SIZE}" width="{SIZE}" height="{SIZE}" role="img" aria-label="Graph of concepts">'
        f"{lines}{circles}</svg>\n<table><tr><th>concept<th>messages<th>together with</tr>\n{rows}</table></html>\n"
    )


def _line(one: tuple[float, float], other: tuple[float, float], count: int) -> str:
    ends = f'x1="{one[0]:.1f}" y1="{one[1]:.1f}" x2="{other[0]:.1f}" y2="{other[1]:.1f}"'
    return f'<line {ends} stroke-width="{min(count, 8)}"/>'


def _node(name: str, count: int, x: float, y: float) -> str:
    size, label = 5 + 5 * math.sqrt(count), html.escape(name)
    return (
        f'<g><title>{label}: {count}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"/>'
        f'<text x="{x:.1f}" y="{y - size - 3:.1f}">{label}</text></g>'
    )
