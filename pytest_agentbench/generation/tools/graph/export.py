"""The graph for other programs and for eyes: JSON and GraphML by networkx, DOT and Mermaid for whoever draws."""

import json

import networkx

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.text import printable
from pytest_agentbench.generation.drawing import Drawing, DrawnEdge, DrawnNode, draw
from pytest_agentbench.generation.tools.graph.graph import to_networkx
from pytest_agentbench.generation.tools.values import Graph

FORMATS = ("json", "graphml", "dot", "mermaid")
_KINDS = {"tool": "", "user": "the user's turn", "end": "the end", "wildcard": "read first", "closing": "closes"}


def exported(graph: Graph, form: str) -> str:
    """Give the graph as `json`, `graphml`, `dot` or `mermaid`; raise `ValueError` for anything else."""
    made = to_networkx(graph)
    if form == "json":
        data = networkx.node_link_data(made, edges="edges")
        return json.dumps(json.loads(dumps({**data, "weights": graph.weights})), indent=1) + "\n"
    if form == "graphml":  # what cannot be shown is spelt out, types are listed with commas
        for _, _, data in made.edges(data=True):
            data["via"], data["reason"] = printable(", ".join(data["via"])), printable(data["reason"])
        shown = networkx.relabel_nodes(made, {name: printable(name) for name in made})
        return "\n".join(networkx.generate_graphml(shown)) + "\n"
    if form not in ("dot", "mermaid"):
        raise ValueError(f"format is {form!r}; it must be one of {', '.join(FORMATS)}")
    return draw(_drawing(made), "dot" if form == "dot" else "mermaid")


def _drawing(made: "networkx.DiGraph[str]") -> Drawing:
    """Draw edges as thick as they are likely, with their types or their weight, and a frame around each agent."""
    nodes = [
        DrawnNode(id=name, label=name, group=data.get("agent", ""), note=_KINDS[data["kind"]])
        for name, data in made.nodes(data=True)
    ]
    edges = [
        DrawnEdge(
            source=source,
            target=target,
            label=", ".join(data["via"]) or f"{data['weight']:.2f}",
            strength=min(data["weight"], 1.0),
        )
        for source, target, data in made.edges(data=True)
    ]
    return Drawing(name="tools", nodes=tuple(nodes), edges=tuple(edges))
