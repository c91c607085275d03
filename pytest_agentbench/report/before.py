"""A session beside its baseline, for reports that are files: what is compared, and which run was which before."""

from collections.abc import Callable

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.transcript import Transcript
from pytest_agentbench.results.comparison import Comparison
from pytest_agentbench.results.document import Document
from pytest_agentbench.results.paired import Flip
from pytest_agentbench.results.transcripts import Transcripts


def name_of(one: Comparison, document: Document) -> str:
    """Name what is compared: the suite where the session has several, the variant and the fault."""
    path = one.second_suite or one.suite
    suite = next((suite.name for suite in document.suites if suite.path == path), "") or path
    label = "-".join(part for part in (one.second_variant or one.variant, one.fault) if part)
    parts = [suite if len(document.suites) > 1 else "", f"[{label}]" if label else ""]
    return " ".join(part for part in parts if part)


def flip_text(flip: Flip) -> str:
    """Say how often a scenario passed before and after."""
    return f"{flip.first_passed}/{flip.first_n} → {flip.second_passed}/{flip.second_n}"


def conversations_before(baseline: Document | None, found: Transcripts) -> Callable[[Result], Transcript | None]:
    """Give what finds the conversation that a run had in the baseline; None where its scenario says something else.

    A baseline of one variant of one suite is what runs of any other variant are held against.
    """
    runs = baseline.results if baseline is not None else ()
    alone = len({(run.key.suite, run.key.variant) for run in runs}) == 1
    held = {_place(run, alone=alone): run for run in runs}

    def conversation(run: Result) -> Transcript | None:
        before = held.get(_place(run, alone=alone))
        return found.read(before) if before is not None and before.scenario_hash == run.scenario_hash else None

    return conversation


def _place(run: Result, *, alone: bool) -> tuple[str, str, str, str, int]:
    suite, scenario, variant, fault, trial = run.key.without_attempt
    return ("", scenario, "", fault, trial) if alone else (suite, scenario, variant, fault, trial)
