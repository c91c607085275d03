"""The rows of several agents: in the terminal and in Markdown, with their gates; the HTML page has the same groups."""

from pytest_agentbench.report.html.overview import overview
from pytest_agentbench.report.markdown import markdown_report
from pytest_agentbench.report.terminal import terminal_report
from tests.results.make import document, result

RUNS = [result("a", agents=("triage", "refunds")), result("b", "failed", agents=("triage",))]


def test_each_agent_has_a_row_and_its_gate_stands_there() -> None:
    """Worst first."""
    made = document(RUNS, gates=("agent.triage >= 0.9",))
    lines = [line.text for line in terminal_report(made)]
    at = lines.index(next(line for line in lines if line.strip() == "agent"))
    assert [line.split()[:3] for line in lines[at + 1 : at + 3]] == [["triage", "2", "1"], ["refunds", "1", "1"]]
    assert "0.90 FAILED" in lines[at + 1]
    assert "<summary>By agent</summary>" in markdown_report(made)
    assert "agent" in [group["title"] for group in overview(made)["groups"]]


def test_one_agent_alone_has_no_row() -> None:
    """It would say again what `all` says."""
    lines = [line.text.strip() for line in terminal_report(document([result("a", agents=("desk",))]))]
    assert "agent" not in lines
