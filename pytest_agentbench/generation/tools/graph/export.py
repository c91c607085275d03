"""The graph for other programs and for eyes: JSON and GraphML by networkx, DOT and Mermaid for whoever draws."""

import json
from collections.abc import Callable, Mapping

import networkx

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import printable
from pytest_agentbench.generation.drawing import Drawing, DrawnEdge, DrawnNode, draw
from pytest_agentbench.generation.tools.graph.graph import to_networkx
from pytest_agentbench.generation.tools.values import Graph

_KINDS = {"tool": "", "user": "the user's turn", "end": "the end", "wildcard": "read first", "closing": "closes"}


def exported(graph: Graph, form: str) -> str:
    """Give the graph as `json`, `graphml`, `dot` or `mermaid`; raise `ValueError` for anything else."""
    if form not in FORMATS:
        raise ValueError(f"format is {form!r}; it must be one of {', '.join(FORMATS)}")
    return FORMATS[form](graph)


def as_json(graph: Graph) -> str:
    """Give nodes and edges as networkx writes them (`node_link_data`)."""
    data = networkx.node_link_data(to_networkx(graph), edges="edges")
    return json.dumps(json.loads(dumps({**data, "weights": graph.weights})), indent=1) + "\n"


def as_graphml(graph: Graph) -> str:
    """Give the graph as GraphML; what cannot be shown is spelt out, types are listed with commas."""
    made = to_networkx(graph)
    for _, _, data in made.edges(data=True):
        data["via"], data["reason"] = printable(", ".join(data["via"])), printable(data["reason"])
    shown = networkx.relabel_nodes(made, {name: printable(name) for name in made})
    return "\n".join(networkx.generate_graphml(shown)) + "\n"


def drawing_of(graph: Graph) -> Drawing:
    """Give the graph to draw: edges as thick as they are likely, with their types or their weight."""
    made = to_networkx(graph)
    kinds = [(name, str(data["kind"])) for name, data in made.nodes(data=True)]
    return Drawing(
        name="tools",
        nodes=tuple(DrawnNode(id=str(name), label=str(name), note=_KINDS[kind]) for name, kind in kinds),
        edges=tuple(
            DrawnEdge(
                source=source,
                target=target,
                label=", ".join(data["via"]) or f"{data['weight']:.2f}",
                strength=min(data["weight"], 1.0),
            )
            for source, target, data in made.edges(data=True)
        ),
    )


FORMATS: Mapping[str, Callable[[Graph], str]] = {
    "json": as_json,
    "graphml": as_graphml,
    "dot": lambda graph: draw(drawing_of(graph), "dot"),
    "mermaid": lambda graph: draw(drawing_of(graph), "mermaid"),
}
"""How each format is written."""
