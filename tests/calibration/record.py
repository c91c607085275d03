"""Has a language model learn from and judge the conversations of `trace/`, and keeps what it said as a cassette.

    python -m tests.calibration.record TEACHER_URL JUDGE_URL

Answered questions are not asked again; delete the cassette to ask anew. What is asked is what `ARGUMENTS` ask of
`agentbench calibrate`, which replays it.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from pytest_agentbench.calibration.calibrate import calibrate, seeded_splits
from pytest_agentbench.calibration.dataset import read_all
from pytest_agentbench.cli.calibrate import add_arguments, contenders_of
from pytest_agentbench.cli.model_options import recording
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.llm.cassette.file import read_cassette, write_cassette
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller

HERE = Path(__file__).parent
CASSETTE = HERE / "cassettes" / "language-model.jsonl"
FOLDERS = [HERE / "trace" / "support", HERE / "trace" / "weather"]
ARGUMENTS = [
    "signals,spur,scope,scope+veto,scope+evidence,scope+evidence+veto",
    *map(str, FOLDERS),
    *("--model", "judge", "--ablations", "--splits", "1", "--seed", "1"),
]

MADE = (
    "answers of a language model to what `agentbench calibrate` asks about the conversations of "
    "tests/calibration/trace, given over a loopback endpoint by people and processes that saw the requests alone: "
    "the 60 test conversations by four readers, one each for spur, scope and scope+evidence, and for scope without "
    "areas a fourth, who had been asked in the other three ways as well; ten of those with evidence by a fifth, when "
    "signals were added to it; "
    "recorded by tests/calibration/record.py; token counts are estimates"
)


async def record(urls: dict[str, str]) -> None:
    """Ask what was not recorded yet, all at once; `urls` gives the server of each role."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = parser.parse_args(ARGUMENTS)
    cases = read_all(options.transcripts)
    with recording(CASSETTE, None, command="record") as recorder:
        models = Models(environ={}, recorder_of=lambda _: recorder)

        def spec(role: str) -> ModelSpec:
            return ModelSpec(model=options.model, base_url=urls[role], seconds=2900, retries=0)

        try:
            contenders = contenders_of(options, lambda role: models.chat(spec(role), Caller(role=role)))
            splits = seeded_splits(cases, seed=options.seed, count=options.splits)
            print((await calibrate(contenders, cases, splits)).model_dump_json(indent=1))
        finally:
            await models.close()
    kept = read_cassette(CASSETTE)
    kept.made = MADE
    write_cassette(CASSETTE, kept)


if __name__ == "__main__":
    asyncio.run(record({"teacher": sys.argv[1], "judge": sys.argv[2]}))
