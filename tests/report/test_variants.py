"""Variants, comparisons and trials as text: within the width, in plain characters, hostile names inert."""

from pytest_agentbench.report.comparison import comparison_lines
from pytest_agentbench.report.sections import correlation_lines, trials_lines
from pytest_agentbench.report.table import ASCII, UNICODE, Layout, glyphs
from pytest_agentbench.report.terminal import terminal_report
from pytest_agentbench.report.variants import variants_lines
from pytest_agentbench.results.comparison import compare_results
from pytest_agentbench.results.correlate import correlate
from pytest_agentbench.results.trials import trials_report
from pytest_agentbench.results.variants import variants_reports
from tests.results.make import document, result
from tests.tables import each

HOSTILE = "evil\x1b[31m\u202e<script>"


def runs(variants=("one", "two", "three"), n=12, tags=("class:easy", "plain")):
    """Runs of which the later variants fail more."""
    return [
        result(
            f"scenario-number-{place:02}",
            "failed" if place < 4 * number else "passed",
            variant=variant, tags=tags, reported={"self_score": 0.9, "steps": 40.0},
            listed_policies=("be-polite",), seconds=place / 10,
        )
        for number, variant in enumerate(variants)
        for place in range(n)
    ]  # fmt: skip


def told(given, *, width=100, unicode=True, verbose=False):
    """The variants report of a session as text."""
    (report,) = variants_reports(document(given))
    return [line.text for line in variants_lines(report, Layout(glyphs(unicode=unicode), width, verbose))]


@each("width", [60, 80, 100])
@each("verbose", [False, True])
def test_nothing_is_wider_than_the_terminal(width, verbose):
    """Tables are laid out one below the other; eight variants with long names are."""
    many = runs([f"variant-with-a-rather-long-name-{number}" for number in range(8)], n=6)

    assert max(len(line) for line in told(many, width=width, verbose=verbose)) <= width


def test_what_does_not_count_is_left_out_unless_asked_for():
    """Success of each variant is always there; the rest with -v."""
    brief, whole = told(runs()), told(runs(), verbose=True)

    assert sum(line.startswith("    success") for line in brief) == 2
    assert any("differences without significance (-v)" in line for line in brief)
    assert sum(line.startswith("    steps") for line in whole) == 2
    assert any(line.startswith("steps by class") for line in whole)


def test_several_trials_show_how_often_all_pass():
    """Users come back: beside each variant's success stands pass^k, for the trials that there are."""
    once = runs(("one", "two"), n=8)
    again = [
        run.model_copy(update={"key": run.key.model_copy(update={"trial": 2}), "verdict": run.verdict}) for run in once
    ]

    heading, one, two = told([*once, *again])[2:5]

    assert not any("pass^" in line for line in told(once))
    assert "pass^2" in heading
    assert one.split()[2:7] == ["100", "%", one.split()[4], "100", "%"]
    assert two.split()[2:7] == ["50", "%", two.split()[4], "50", "%"]


def test_flips_and_tags_are_named():
    """Which scenarios are lost against the first variant, and success by class."""
    lines = "\n".join(told(runs()))

    assert "two loses 4: scenario-number-00, scenario-number-01" in lines
    assert "success by class" in lines
    assert "  easy" in lines
    assert "self_score" in lines


def test_hostile_names_are_inert_and_ascii_terminals_get_ascii():
    """No escape sequence, no bidi override, nothing beyond ASCII where the terminal shows no more."""
    given = runs((HOSTILE, "two"))
    compared = comparison_lines(compare_results(given, given), Layout(ASCII, 100), title=HOSTILE)
    correlated = correlation_lines(
        correlate(runs((HOSTILE, "b", "c")), runs((HOSTILE, "b", "c"))), Layout(ASCII, 100), title=HOSTILE
    )

    text = "\n".join([*told(given, unicode=False), *(line.text for line in (*compared, *correlated))])

    assert text.isascii()
    assert "\x1b" not in text


def test_the_terminal_report_shows_variants_and_trials_once_there_are_several():
    """One variant and one trial: neither section."""
    plain = "\n".join(line.text for line in terminal_report(document(runs(("one",)))))
    both = [
        *runs(("one",)),
        *(run.model_copy(update={"key": run.key.model_copy(update={"trial": 2})}) for run in runs(("one",))),
    ]
    trials = "\n".join(line.text for line in terminal_report(document(both)))

    assert "variants of" not in plain
    assert "pass^k" not in plain
    assert "pass^k" in trials
    assert "flaky: none of 12 scenarios" in trials


def test_flaky_scenarios_are_cut_to_ten():
    """The least reliable ten, and how many more."""
    given = [
        result(f"s{place:02}", "passed" if trial == 1 else "failed", trial=trial)
        for place in range(13)
        for trial in (1, 2)
    ]

    text = "\n".join(line.text for line in trials_lines(trials_report(given), Layout(UNICODE, 100)))

    assert "flaky: 13 of 13 scenarios" in text
    assert "s09 1/2" in text
    assert "s10" not in text
    assert "and 3 more (-v)" in text


def test_files_with_nothing_in_common_say_so():
    """No suite and variant stands in both."""
    lines = comparison_lines(compare_results(runs(("a", "b")), runs(("c", "d"))), Layout(UNICODE, 100), title="a -> b")

    assert "nothing to compare" in lines[-1].text
