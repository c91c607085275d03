"""The graph for other programs and for eyes: JSON, DOT, Mermaid, and SVG drawn by a small circular layout of our own.

Graphviz is not needed for the SVG; it draws the DOT, where it is installed.
"""

import json
import math
from html import escape

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import printable
from pytest_agentbench.generation.tools.values import END_OF_SIMULATION, RUN_CONVERSATION, Edge, Graph

FORMATS = ("json", "dot", "mermaid", "svg")

_WIDTH = 24
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto" '
    'markerUnits="userSpaceOnUse"><path d="M0 0 10 5 0 10z" fill="#374151"/></marker></defs>'
)
_COLOURS = {"user": "#dbeafe", "end": "#e5e7eb", "wildcard": "#fef3c7", "closing": "#fee2e2", "tool": "#ffffff"}


def exported(graph: Graph, form: str) -> str:
    """Give the graph as `json`, `dot`, `mermaid` or `svg`; raise `ValueError` for anything else."""
    forms = {"json": as_json, "dot": as_dot, "mermaid": as_mermaid, "svg": as_svg}
    if form not in forms:
        raise ValueError(f"format is {form!r}; it must be one of {', '.join(FORMATS)}")
    return forms[form](graph)


def as_json(graph: Graph) -> str:
    """Give nodes and edges as JSON: `{"nodes": [{id, kind}], "edges": [{source, target, weight, via, reason}]}`."""
    nodes = [{"id": name, "kind": _kind(graph, name)} for name in _nodes(graph)]
    edges = [edge.model_dump() for edge in graph.edges]
    return json.dumps(json.loads(dumps({"nodes": nodes, "edges": edges, "weights": graph.weights})), indent=1) + "\n"


def as_dot(graph: Graph) -> str:
    """Give the graph in Graphviz' language; the pen's width is in proportion to the weight."""
    lines = ["digraph tools {", "  rankdir=LR;", '  node [shape=box, style="rounded,filled", fontname="Helvetica"];']
    lines += [f"  {_quoted(name)} [fillcolor={_quoted(_COLOURS[_kind(graph, name)])}];" for name in _nodes(graph)]
    for edge in graph.edges:
        label = ", ".join(edge.via) or f"{edge.weight:.2f}"
        width = 0.5 + 4 * edge.weight
        given = f"label={_quoted(label)}, penwidth={width:.2f}, tooltip={_quoted(edge.reason or label)}"
        lines.append(f"  {_quoted(edge.source)} -> {_quoted(edge.target)} [{given}];")
    return "\n".join([*lines, "}"]) + "\n"


def as_mermaid(graph: Graph) -> str:
    """Give the graph as a Mermaid flowchart; nodes have ids of ours, since names may hold any characters."""
    ids = {name: f"n{number}" for number, name in enumerate(_nodes(graph))}
    lines = ["flowchart LR"]
    for name, node in ids.items():
        left, right = ("([", "])") if name in (RUN_CONVERSATION, END_OF_SIMULATION) else ("[", "]")
        lines.append(f'  {node}{left}"{_mermaid(name)}"{right}')
    for edge in graph.edges:
        label = _mermaid(", ".join(edge.via) or f"{edge.weight:.2f}")
        lines.append(f'  {ids[edge.source]} -->|"{label}"| {ids[edge.target]}')
    return "\n".join(lines) + "\n"


def as_svg(graph: Graph) -> str:
    """Draw the graph: the user's turn in the middle, tools on a circle in declared order, edges as wide as likely."""
    ring = [*graph.tools, END_OF_SIMULATION]
    radius = max(180.0, 34.0 * len(ring))
    centre = radius + 140
    size = 2 * centre
    places = {RUN_CONVERSATION: (centre, centre)}
    for number, name in enumerate(ring):
        angle = 2 * math.pi * number / len(ring) - math.pi / 2
        places[name] = (centre + radius * math.cos(angle), centre + radius * math.sin(angle))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size:.0f} {size:.0f}" font-family="sans-serif" '
    parts = [f'{head}font-size="12">', _TIP]
    parts += [_drawn_edge(edge, places) for edge in graph.edges if edge.source in places and edge.target in places]
    for name, (x, y) in places.items():
        text = printable(name)
        shown = escape(text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…")
        wide = 7.2 * min(len(text), _WIDTH) + 16
        colour = _COLOURS[_kind(graph, name)]
        parts.append(
            f'<g><title>{escape(text)}</title><rect x="{x - wide / 2:.1f}" y="{y - 13:.1f}" width="{wide:.1f}" '
            f'height="26" rx="8" fill="{colour}" stroke="#374151"/>'
            f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{shown}'
            "</text></g>"
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _drawn_edge(edge: Edge, places: dict[str, tuple[float, float]]) -> str:
    """Draw an edge as an arc that ends before the node's box, bent to one side so that both directions show."""
    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    title = escape(printable(f"{edge.source} → {edge.target}: {edge.weight:.2f} {', '.join(edge.via) or edge.reason}"))
    colour = "#2563eb" if edge.via else "#9ca3af"
    style = f'fill="none" stroke="{colour}" stroke-width="{0.6 + 5 * edge.weight:.2f}" marker-end="url(#tip)"'
    length = math.hypot(x2 - x1, y2 - y1)
    if length == 0:
        path = f"M{x1 - 12:.1f} {y1 - 13:.1f} c-20 -40 44 -40 24 0"
    else:
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        bend = 0.12 * length
        mx, my = (x1 + x2) / 2 - uy * bend, (y1 + y2) / 2 + ux * bend
        path = f"M{x1 + ux * 16:.1f} {y1 + uy * 16:.1f} Q{mx:.1f} {my:.1f} {x2 - ux * 18:.1f} {y2 - uy * 18:.1f}"
    return f'<path d="{path}" {style}><title>{title}</title></path>'


def _nodes(graph: Graph) -> list[str]:
    return [RUN_CONVERSATION, *graph.tools, END_OF_SIMULATION]


def _kind(graph: Graph, name: str) -> str:
    if name == RUN_CONVERSATION:
        return "user"
    if name == END_OF_SIMULATION:
        return "end"
    return "wildcard" if name in graph.wildcards else "closing" if name in graph.closing else "tool"


def _quoted(text: str) -> str:
    """Quote a text as Graphviz does: a backslash and a quote are escaped, what cannot be shown is spelt out."""
    plain = printable(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'


def _mermaid(text: str) -> str:
    return "".join(f"#{ord(char)};" if char in '"#;<>&[]{}()|`\\' else char for char in printable(text))
