"""Graphs as text that other programs draw: Graphviz DOT and Mermaid. Labels are hostile and stay quoted."""

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
    is_dot = language == "dot"
    text = _quoted if is_dot else _entities
    keys = {node.id: f"n{number}" for number, node in enumerate(drawing.nodes)}
    kind, arrow = ("digraph", "->") if drawing.directed else ("graph", "--")
    lines = [f"{kind} {text(drawing.name)} {{", "  node [shape=box];"] if is_dot else ["flowchart LR"]
    for number, group in enumerate(dict.fromkeys(node.group for node in drawing.nodes)):
        if group:
            frame = f"cluster_{number} {{ label={text(group)};" if is_dot else f"g{number}[{text(group)}]"
            lines.append(f"  subgraph {frame}")
        for node in (one for one in drawing.nodes if one.group == group):
            caption = text(shorten(node.label, _WIDTH) + (f" ({node.note})" if node.note else ""))
            box = f"[label={caption}];" if is_dot else f"[{caption}]"
            lines.append(f"{'    ' if group else '  '}{keys[node.id]}{' ' if is_dot else ''}{box}")
        lines += [f"  {'}' if is_dot else 'end'}"] if group else []
    for edge in drawing.edges:
        source, target = keys[edge.source], keys[edge.target]
        if is_dot:
            label = f", label={text(edge.label)}" if edge.label else ""
            lines.append(f"  {source} {arrow} {target} [penwidth={0.5 + 2.5 * edge.strength:.2f}{label}];")
        else:
            label = f"|{text(edge.label)}|" if edge.label else ""
            lines.append(f"  {source} {'-->' if drawing.directed else '---'}{label} {target}")
    return "\n".join([*lines, *(["}"] if is_dot else [])]) + "\n"


def _quoted(text: str) -> str:
    plain = printable(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'


def _entities(text: str) -> str:
    # neither quotes nor markup of the page that shows it can be closed from inside
    plain = "".join(char if char.isalnum() or char in " .,:;-–_/()%·" else f"#{ord(char)};" for char in printable(text))
    return f'"{plain}"'
