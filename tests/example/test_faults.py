"""Faults on the example agents: one that makes a figure up after a timeout is caught.

`python -m benchmarks.faults --inventor` shows it on both.
"""

from benchmarks.faults import arranged, played

NAMES = ("support",)


def test_an_agent_that_invents_a_result_is_caught() -> None:
    """By a check without a model, in every run in which it did so."""
    with arranged(NAMES, ["timeout"], every=40, inventor=True) as root:
        found = played(root, NAMES)

    for name in NAMES:
        struck = [run for run in found[name] if run.metrics.get("faults_met")]
        assert struck, name
        assert all(run.metrics["faults_made_up"] and not run.passed and run.scored for run in struck), name
