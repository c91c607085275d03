"""Graphs as text that other programs draw: Graphviz DOT and Mermaid. Labels are hostile and stay quoted."""

from collections.abc import Sequence
from typing import Literal

from pytest_agentbench.core.base import Model
from pytest_agentbench.core.text import printable, shorten

Language = Literal["dot", "mermaid"]

_WIDTH = 60


class DrawnNode(Model):
    """One box: `group` puts it into a frame with others, `note` is small print."""

    id: str
    label: str
    group: str = ""
    note: str = ""


class DrawnEdge(Model):
    """One line; `strength` from 0 to 1 makes it thicker."""

    source: str
    target: str
    label: str = ""
    strength: float = 0.5


class Drawing(Model):
    """What is drawn: nodes and edges in order."""

    name: str
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...] = ()
    directed: bool = True


def draw(drawing: Drawing, language: Language) -> str:
    """Write a drawing in a language, ending with a line break; equal drawings give equal text."""
    return _dot(drawing) if language == "dot" else _mermaid(drawing)


def _dot(drawing: Drawing) -> str:
    keys = _keys(drawing)
    lines = [f"{'digraph' if drawing.directed else 'graph'} {_dot_text(drawing.name)} {{", "  node [shape=box];"]
    for number, (group, nodes) in enumerate(_groups(drawing.nodes)):
        rows = [f"{keys[node.id]} [label={_dot_text(_caption(node))}];" for node in nodes]
        if group:
            lines.append(f"  subgraph cluster_{number} {{ label={_dot_text(group)};")
        lines += [f"  {'  ' if group else ''}{row}" for row in rows]
        if group:
            lines.append("  }")
    arrow = "->" if drawing.directed else "--"
    for edge in drawing.edges:
        label = f", label={_dot_text(edge.label)}" if edge.label else ""
        width = f"{0.5 + 2.5 * edge.strength:.2f}"
        lines.append(f"  {keys[edge.source]} {arrow} {keys[edge.target]} [penwidth={width}{label}];")
    return "\n".join([*lines, "}"]) + "\n"


def _mermaid(drawing: Drawing) -> str:
    keys = _keys(drawing)
    lines = ["flowchart LR"]
    for number, (group, nodes) in enumerate(_groups(drawing.nodes)):
        if group:
            lines.append(f"  subgraph g{number}[{_mermaid_text(group)}]")
        lines += [f"  {'  ' if group else ''}{keys[node.id]}[{_mermaid_text(_caption(node))}]" for node in nodes]
        if group:
            lines.append("  end")
    arrow = "-->" if drawing.directed else "---"
    for edge in drawing.edges:
        label = f"|{_mermaid_text(edge.label)}|" if edge.label else ""
        lines.append(f"  {keys[edge.source]} {arrow}{label} {keys[edge.target]}")
    return "\n".join(lines) + "\n"


def _keys(drawing: Drawing) -> dict[str, str]:
    return {node.id: f"n{number}" for number, node in enumerate(drawing.nodes)}


def _groups(nodes: Sequence[DrawnNode]) -> list[tuple[str, list[DrawnNode]]]:
    names = dict.fromkeys(node.group for node in nodes)
    return [(name, [node for node in nodes if node.group == name]) for name in names]


def _caption(node: DrawnNode) -> str:
    return shorten(node.label, _WIDTH) + (f" ({node.note})" if node.note else "")


def _dot_text(text: str) -> str:
    plain = printable(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'


def _mermaid_text(text: str) -> str:
    # entities: neither quotes nor markup of the page that shows it can be closed from inside
    plain = "".join(char if char.isalnum() or char in " .,:;-–_/()%·" else f"#{ord(char)};" for char in printable(text))
    return f'"{plain}"'
