"""`agentbench compare`: text, JSON, exit status, correlation."""

import json

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.results.document import write
from tests.results.make import document, result


@pytest.fixture
def files(tmp_path):
    """Two results files of twelve scenarios under three variants; in the second, variant c lost eight."""
    paths = []
    for number, passing in enumerate(({"a": 4, "b": 8, "c": 12}, {"a": 4, "b": 8, "c": 4})):
        runs = [
            result(f"s{place:02}", "passed" if place < count else "failed", variant=variant)
            for variant, count in passing.items()
            for place in range(12)
        ]
        paths.append(tmp_path / f"r{number}.json")
        write(document(runs), paths[-1])
    return [str(path) for path in paths]


def test_a_loss_is_shown_and_gives_status_1(files, capsys):
    """Each variant has its table, corrected for the others; the flips are named."""
    status = main(["compare", *files])

    text = capsys.readouterr().out
    assert status == 1
    assert "r0.json -> r1.json" in text
    assert text.count("12 scenarios compared") == 3
    assert "WORSE" in text
    assert "passes less often 8: s04, s05" in text


def test_equal_files_give_status_0(files, capsys):
    """Nothing lost, nothing won."""
    assert main(["compare", files[0], files[0]]) == 0
    assert "WORSE" not in capsys.readouterr().out


def test_json_holds_all_that_was_found(files, capsys):
    """The same comparison as data."""
    assert main(["compare", "--json", *files]) == 1

    found = json.loads(capsys.readouterr().out)
    lost = found["comparisons"][2]["paired"]
    assert (found["worse"], lost["scenarios"], len(lost["lost"])) == (True, 12, 8)
    assert lost["success"]["p_holm"] == pytest.approx(3 * 2 / 2**8)


def test_variants_are_correlated_between_files(files, capsys):
    """Both coefficients with intervals, by success or another number."""
    assert main(["compare", "--correlate", *files]) == 0
    text = capsys.readouterr().out
    assert "Pearson" in text
    assert "3 variants" in text
    assert main(["compare", "--correlate", "--metric", "tool_calls", *files]) == 0
    assert "one side does not vary" in capsys.readouterr().out


def test_an_unknown_metric_is_told(files, capsys):
    """With what there is."""
    assert main(["compare", "--correlate", "--metric", "joy", *files]) == 2
    assert "no run has the metric 'joy'" in capsys.readouterr().err


def test_report_compares_with_a_baseline_and_gates_on_it(tmp_path, capsys):
    """`report --gate --baseline` decides `regression` over merged shards."""
    for name, count in (("base", 12), ("now", 2)):
        runs = [result(f"s{place:02}", "passed" if place < count else "failed") for place in range(12)]
        write(document(runs, ["regression <= 0"]), tmp_path / f"{name}.json")

    status = main(["report", "--gate", "--baseline", str(tmp_path / "base.json"), str(tmp_path / "now.json")])

    text = capsys.readouterr().out
    assert status == 1
    assert "against the baseline base.json" in text
    assert "regression <= 0" in text
