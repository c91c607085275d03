"""What a language model made of labelled conversations, replayed: SCOPE, SPUR, ablations, evidence, what it wrote."""

import argparse
import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from pytest_agentbench.calibration.dataset import read_all, signals
from pytest_agentbench.calibration.model_conversations import Written
from pytest_agentbench.checks.judges.signals import labelled_by
from pytest_agentbench.cli.calibrate import add_arguments, run
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller, Chat
from tests.calibration import record_elsewhere, record_state, record_written
from tests.calibration.record import ARGUMENTS, CASSETTE

NOWHERE = "http://127.0.0.1:9/v1"
PAGE = Path(__file__).parents[2] / "docs" / "research" / "judges.md"
INDEPENDENT = sorted((Path(__file__).parent / "independent").iterdir())
HELD_OUT = sorted(one for one in (Path(__file__).parent / "held_out").iterdir() if one.is_dir())


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, dict[str, float | None]]]:
    """The figures of `agentbench calibrate` from the cassette alone: contender, part, figure."""
    file = tmp_path_factory.mktemp("replayed") / "figures.json"
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    reach = ["--base-url", NOWHERE, "--cassette", str(CASSETTE), "--mode", "replay", "--json", str(file)]
    run(parser.parse_args([*ARGUMENTS, *reach]))
    found = json.loads(file.read_text())["contenders"]
    return {
        one["name"]: {
            part: {figure: value["mean"] for figure, value in slice_["figures"].items()}
            for part, slice_ in one["slices"].items()
        }
        for one in found
    }


@pytest.mark.slow
def test_the_table_of_the_paper_is_replayed(replayed: dict[str, dict[str, dict[str, float | None]]]) -> None:
    """Every way of judging has figures on all parts; on hard negatives only accuracy is defined."""
    names = {"spur", "scope", "scope-areas", "scope-weights", "scope-make_or_break"}
    names |= {"scope+veto", "scope+evidence", "scope+evidence+veto"}

    assert replayed.keys() == names | {"signals"}
    for name in names:
        parts = replayed[name]
        assert parts["all"]["kappa"] is not None
        assert parts["hard"]["accuracy"] is not None
        assert parts["hard"]["f1"] is None


@pytest.mark.slow
def test_weights_and_make_or_break_find_hard_negatives(
    replayed: dict[str, dict[str, dict[str, float | None]]],
) -> None:
    """As in the paper's ablation, from the very same scores."""
    hard = {name: parts["hard"]["accuracy"] or 0.0 for name, parts in replayed.items()}

    assert hard["scope-weights"] < hard["scope"]
    assert hard["scope-make_or_break"] < hard["scope"]


@pytest.mark.slow
def test_the_page_prints_what_is_replayed(replayed: dict[str, dict[str, dict[str, float | None]]]) -> None:
    """Each row of docs/research/judges.md: figures on all, then accuracy on easy, hard and appropriate."""
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in PAGE.read_text().splitlines()]
    printed = {row[0]: row[1:] for row in rows if len(row) == 9 and row[0] in replayed}

    assert printed.keys() == replayed.keys()
    for name, parts in replayed.items():
        figures = [parts["all"][figure] for figure in ("accuracy", "precision", "recall", "f1", "kappa")]
        figures += [parts[part]["accuracy"] for part in ("easy", "hard", "dissatisfied-yet-appropriate")]
        assert printed[name] == [f"{figure:.2f}" for figure in figures], name


def test_the_page_prints_what_was_said_of_conversations_of_others() -> None:
    """Each row of docs/research/judges.md: figures with deviations, then the right ones of each part."""
    cases, said = asyncio.run(record_elsewhere.asked({}))

    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in PAGE.read_text().splitlines()]
    printed = {row[0]: row[1:] for row in rows if len(row) == 10 and row[0] in said}
    assert printed == {name: list(record_elsewhere.figures(cases, labels).values()) for name, labels in said.items()}


def test_evidence_shows_changes_that_were_not_made() -> None:
    """With it all are found, and so are wrong facts; without it none is, and POS are left alone either way."""
    teacher = CassetteRecorder(Mode.REPLAY, record_state.LEARNED, shard=None, redact=lambda value: value)
    judges = CassetteRecorder(Mode.REPLAY, record_state.CASSETTE, shard=None, redact=lambda value: value)
    models = Models(environ={}, recorder_of=lambda caller: teacher if caller.role == "teacher" else judges)

    def chat(role: str) -> Chat:
        return models.chat(ModelSpec(model="judge", base_url=NOWHERE), Caller(role=role))

    cases, shown, not_shown = asyncio.run(record_state.play(chat))

    said = Counter((case.situation, shown[case.id], not_shown[case.id]) for case in cases)
    assert said == {
        ("wrong-action-silent", "NEG", "POS"): 4,
        ("trusted-wrong-fact", "NEG", "POS"): 4,
        ("correct", "POS", "POS"): 8,
    }


def written() -> dict[str, Written]:
    """What a model wrote and another let through, of both services."""
    recorder = CassetteRecorder(Mode.REPLAY, record_written.CASSETTE, shard=None, redact=lambda value: value)
    models = Models(environ={}, recorder_of=lambda _: recorder)

    def chat(role: str) -> Chat:
        return models.chat(ModelSpec(model=role, base_url=NOWHERE), Caller(role=role))

    return asyncio.run(record_written.play(chat))


def test_a_model_writes_conversations_and_another_filters_them() -> None:
    """Most are let through as silver, none under a situation that is not its own."""
    made = list(written().values())
    kept = [case for one in made for case in one.kept]
    refused = sum(len(one.refused) for one in made)

    assert len(kept) + refused == 2 * record_written.COUNT
    assert refused > 0
    assert [(one.caught, one.misnamed) for one in made] == [(8, 8), (8, 8)]
    assert {case.grade for case in kept} == {"silver"}
    assert {case.label for case in kept} == {"POS", "NEG"}
    assert all(case.transcript.trajectory for case in kept if case.label == "POS")


def test_signals_are_a_baseline_and_no_judge() -> None:
    """What they find in the words of others: the figures of docs/research/judges.md."""
    found = {}
    for name, folders in (("independent", INDEPENDENT), ("held out", HELD_OUT)):
        cases = read_all(folders)
        for part in ("POS", "hard"):
            members = [case for case in cases if (case.label if part == "POS" else case.bucket) == part]
            right = sum(labelled_by(signals(case)) == case.label for case in members)
            found[name, part] = (right, len(members))

    assert found == {
        ("independent", "POS"): (18, 22),
        ("independent", "hard"): (11, 21),
        ("held out", "POS"): (17, 25),
        ("held out", "hard"): (7, 23),
    }
