"""What runs went through of a tool graph that was generated beside the suite."""

from pathlib import Path

from pytest_agentbench.generation.tools.artifacts import save
from pytest_agentbench.generation.tools.data_types import Edge, Graph
from pytest_agentbench.report.html.page import Reading, html_report
from tests.report.html.page import parse
from tests.report.html.test_page import TALK, failing
from tests.results.make import document

GRAPH = Graph(
    tools=("find_order", "refund", "exchange"),
    edges=(
        Edge(source="Run_Conversation", target="find_order"),
        Edge(source="find_order", target="refund"),
        Edge(source="find_order", target="exchange"),
    ),
)


def test_tools_and_transitions_that_no_run_saw_are_named(tmp_path: Path) -> None:
    """One tool and the way to it are missing; what begins a conversation is no transition between tools."""
    save(tmp_path / "bench" / "generated" / "graph.json", GRAPH, "made from")
    (tmp_path / "bench" / "graph.json").write_text("[]")

    page = parse(html_report(document([failing()]), Reading(transcript=lambda _: TALK, root=tmp_path)))

    assert page.data()["coverage"] == [
        {
            "path": "bench/generated/graph.json",
            "tools": [2, 3],
            "steps": [1, 2],
            "missing": ["exchange"],
            "missing_steps": [["find_order", "exchange"]],
            "more": 0,
        }
    ]


def test_without_a_graph_nothing_is_said(tmp_path: Path) -> None:
    """Most suites are written by hand."""
    page = parse(html_report(document([failing()]), Reading(transcript=lambda _: TALK, root=tmp_path)))

    assert page.data()["coverage"] == []
