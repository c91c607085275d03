"""What GitHub reads off the log."""

import re
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.report.annotations import github_annotations, in_repository
from tests.results.make import document, result, support_runs, unconfirmed, wrong_refund
from tests.tables import each

COMMAND = re.compile(r"::(?P<level>error|warning|notice) (?P<properties>[^:\r\n]*)::(?P<text>[^\r\n]*)")


def read(line: str) -> tuple[str, dict[str, str], str]:
    """Take a line apart as GitHub does: properties end at a comma, `%25` and others are decoded."""
    found = COMMAND.fullmatch(line)
    assert found
    pairs = (part.partition("=") for part in found["properties"].split(","))
    return found["level"], {name: unquote(value) for name, _, value in pairs}, unquote(found["text"])


def test_a_failure_stands_on_its_scenarios_line() -> None:
    """File, line, name and the worst finding."""
    (line,) = github_annotations(document([wrong_refund(file="bench/late.yaml", line=12), result()]))

    assert read(line) == (
        "error",
        {"file": "bench/late.yaml", "line": "12", "title": "two-orders-one-card failed"},
        'state: turn 6: refund(order_id="W77", method="card_2")  expected method="paypal_1"',
    )


@given(text=st.text(st.characters(codec=None)))
def test_no_text_ends_a_command_or_begins_another(text: str) -> None:
    """Line ends, colons, commas and per cent signs of an agent's stay in their place."""
    run = unconfirmed(f"a{text}", file=f"bench/{text}", line=1, stop_reason=text)

    (line,) = github_annotations(document([run]))

    level, properties, _ = read(line)
    assert level == "error"
    assert properties.keys() == {"file", "line", "title"}


def test_escapes_are_githubs() -> None:
    """`%` first, then what would end a property."""
    (line,) = github_annotations(document([unconfirmed("50%,\n::x", file="a,b:c.yaml", line=1)]))

    assert "file=a%2Cb%3Ac.yaml,line=1,title=50%25%2C %3A %3Ax failed::" in line


def test_ten_are_shown_and_the_others_counted() -> None:
    """GitHub drops what is more without a word."""
    lines = github_annotations(document([unconfirmed(f"case-{number}", file="a.yaml", line=1) for number in range(32)]))

    assert len(lines) == 11
    assert read(lines[-1]) == ("notice", {"title": "agentbench"}, "22 more failures; the report names them all")


def test_where_gates_decide_failed_ones_are_errors_and_missed_scenarios_warnings() -> None:
    """A gate stands on its suite's file."""
    lines = github_annotations(document(support_runs(), gates=["success >= 0.95", "errors <= 0.5"]))

    assert [read(line)[0] for line in lines] == ["error", "warning", "warning"]
    assert read(lines[0])[1] == {"file": "bench/agentbench.yaml", "line": "1", "title": "agentbench: gate failed"}


def test_what_is_not_the_agents_fault_is_not_annotated() -> None:
    """A provider that is down is no news about the code under review."""
    assert github_annotations(document([result("a", "error", "provider", file="a.yaml", line=1)])) == []


@each(
    ("root", "workspace", "file", "shown"),
    [
        ("/ci/repo/agent", "/ci/repo", "bench/a.yaml", "agent/bench/a.yaml"),
        ("/ci/repo", "/ci/repo", "bench/a.yaml", "bench/a.yaml"),
        ("/elsewhere", "/ci/repo", "bench/a.yaml", "bench/a.yaml"),
        ("/ci/repo/agent", "/ci/repo", "../shared/a.yaml", "shared/a.yaml"),
    ],
)
def test_files_are_named_as_the_repository_does(root: str, workspace: str, file: str, shown: str) -> None:
    """The project may lie deeper in the checkout; a file outside of it stays as it is."""
    assert in_repository(root, workspace)(file) == shown
