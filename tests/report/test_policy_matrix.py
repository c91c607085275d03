"""Policies against complexity, tools and each other: shares, intervals, holes, what was planned, what never tried."""

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.core.run import PolicyOutcome
from pytest_agentbench.report.breakdown import matrices, matrix_lines
from pytest_agentbench.report.table import ASCII, UNICODE
from pytest_agentbench.results.document import Document, PolicyRecord, SuiteRecord, write
from tests.results.make import SUITE, result

POLICIES = (
    PolicyRecord(id="ask-first", challenge=2, category="consent"),
    PolicyRecord(id="window", challenge=3, category="eligibility"),
    PolicyRecord(id="kind", challenge=1, category="eligibility"),
    PolicyRecord(id="unused", challenge=1),
)


def run(name, verdict, complexity, listed, exercised=(), *, broken=(), tools=()):
    """Make a run whose rules decide `ask-first` and `window`."""
    outcomes = tuple(
        PolicyOutcome(policy=policy, exercised=policy in exercised, kept=policy not in broken)
        for policy in ("ask-first", "window")
    )
    return result(
        name,
        verdict,
        complexity=complexity,
        complexity_scale="policies",
        listed_policies=listed,
        policies=outcomes,
        tools=tools,
    )


@pytest.fixture
def document():
    """Five runs, one of them not scored."""
    both = ("ask-first", "window")
    runs = (
        run("a", "passed", 2, ("ask-first",), ("ask-first",), tools=("cancel",)),
        run(
            "b", "failed", 5, ("ask-first", "window"), ("ask-first",), broken=("ask-first",), tools=("cancel", "refund")
        ),
        run("c", "passed", 5, both, both, tools=("refund",)),
        run("d", "passed", 1, ("kind",), ("window",)),
        result("e", "error", "environment", complexity=9, complexity_scale="policies", listed_policies=("unused",)),
    )
    return Document(suites=(SuiteRecord(path=SUITE, name="shop", policies=POLICIES),), results=runs)


def shares(rows):
    """Give labels with passed and n."""
    return {row.label: (row.passed, row.n) for row in rows}


def test_shares_by_policy_category_and_level(document):
    """A policy counts where it was exercised, and nowhere where nothing can tell; levels add up from above."""
    (found,) = matrices(document)

    assert shares(found.policies) == {"ask-first": (2, 3), "window": (2, 2), "kind": (0, 0), "unused": (0, 0)}
    assert shares(found.categories) == {"consent": (2, 3), "eligibility": (2, 2)}
    assert shares(found.complexities) == {"1": (1, 1), "2": (1, 1), "5": (1, 2)}
    assert shares(found.at_least) == {"1": (3, 4), "2": (2, 3), "5": (1, 2)}
    assert 0 < found.policies[0].low < 2 / 3 < found.policies[0].high < 1
    assert found.policies[3].rate is None


def test_matrices_have_holes_and_intervals(document):
    """Cells hold the runs of both; a cell that no run filled is a hole."""
    (found,) = matrices(document)

    cells = dict(zip(found.by_tool.rows, found.by_tool.cells, strict=True))
    assert found.by_tool.columns == ("cancel", "refund")
    assert [(cell.passed, cell.n) for cell in cells["ask-first"]] == [(1, 2), (1, 2)]
    assert found.by_tool.holes == 5
    assert found.by_complexity.columns == ("1", "2", "5")
    assert cells["ask-first"][0].low is not None


def test_planned_is_set_against_exercised(document):
    """Policies planned and not exercised, exercised and not planned, and those nothing can tell of, are counted."""
    (found,) = matrices(document)
    plans = {plan.policy: plan for plan in found.plans}

    assert (plans["window"].planned, plans["window"].exercised, plans["window"].unplanned) == (2, 1, 1)
    assert (plans["kind"].planned, plans["kind"].unknown) == (1, 1)
    assert (found.pairs, len(found.untried)) == (6, 5)
    assert ("ask-first", "window") not in found.untried
    assert found.unmet == ()


@pytest.mark.parametrize("marks", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_the_terminal_shows_them_within_its_width(document, marks):
    """No line is wider than the terminal, ASCII stays ASCII, and every part has its heading."""
    (found,) = matrices(document)

    lines = [line.text for line in matrix_lines(found, marks, width=80)]

    text = "\n".join(lines)
    assert max(map(len, lines)) <= 80
    assert text.isascii() or marks is UNICODE
    for part in ("category", "complexity (policies) from", "planned and exercised", "pairs that no scenario plans"):
        assert part in text


def test_the_command_shows_them_on_request(document, tmp_path, capsys):
    """`agentbench report --matrix` adds them; results without policies say that there are none."""
    write(document, tmp_path / "results.json")
    write(Document(results=(result("a"),)), tmp_path / "plain.json")

    main(["report", str(tmp_path / "results.json"), "--matrix"])
    shown = capsys.readouterr().out
    main(["report", str(tmp_path / "results.json")])
    without = capsys.readouterr().out
    main(["report", str(tmp_path / "plain.json"), "--matrix"])

    assert "policies of shop" in shown
    assert "policies of shop" not in without
    assert "there is no matrix" in capsys.readouterr().out
