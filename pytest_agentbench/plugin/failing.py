"""Why an item fails, in the words a user reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.report.failure import failure_text
from pytest_agentbench.report.worst import rerun_command
from pytest_agentbench.results.document import policy_record
from pytest_agentbench.results.standing import standing_of
from pytest_agentbench.results.store import read_transcript

if TYPE_CHECKING:
    from pytest_agentbench.plugin.bench import Bench, Finished
    from pytest_agentbench.runs.plan import RunPlan


class ScenarioFailed(AssertionError):  # noqa: N818 - it says what happened, as pytest's own do
    """A run did not pass; the text is what the user reads."""


def default_variant(plan: RunPlan) -> str:
    """Give the variant that runs without being asked for."""
    return next(iter(plan.suite.variants), "") or (plan.variant if plan.recording else "")


def from_here(result: Result, config: pytest.Config) -> Result:
    """Give a result whose node id works in the folder that pytest was started in."""
    if config.invocation_params.dir == config.rootpath or not result.nodeid:
        return result
    path, separator, rest = result.nodeid.partition("::")
    shown = os.path.relpath(config.rootpath / path, config.invocation_params.dir)
    return result.model_copy(update={"nodeid": f"{shown}{separator}{rest}"})


def path_shown(config: pytest.Config, bench: Bench, result: Result) -> str:
    """Give the file of a run's transcript as seen from where pytest was started; empty where there is none."""
    if not result.transcript:
        return ""
    file, here = bench.directory.path / result.transcript, config.invocation_params.dir
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def failure_of(config: pytest.Config, bench: Bench, finished: Finished, plan: RunPlan) -> str:
    """Describe a run that did not pass: which check, expected beside actual, the turn, and how to run it again."""
    result = finished.result
    file = bench.directory.path / result.transcript if result.transcript else None
    transcript = read_transcript(file) if file is not None and file.exists() else None
    return failure_text(
        result,
        transcript,
        verbose=config.get_verbosity() > 0,
        rerun=rerun_command(
            from_here(result, config), default_variant(plan), cassette=bench.options.cassette, seed=bench.options.seed
        ),
        transcript_path=path_shown(config, bench, result),
        standing=standing_of(plan.suite),
        policies=tuple(map(policy_record, plan.suite.policies)),
    )
