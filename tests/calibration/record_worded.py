"""Has a language model write conversations around calls of the example project's services, and keeps them.

    python -m tests.calibration.record_worded [URL [FOLDER]]

Without an address, or with an empty one, what is recorded is replayed. Either way the conversations are written to
`worded/`, or to the folder.
"""

import asyncio
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_agentbench.calibration.generate import Wish, generate
from pytest_agentbench.calibration.rewording import worded
from pytest_agentbench.cli.model_options import recording
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.llm.cassette.file import read_cassette, write_cassette
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller

HERE = Path(__file__).parent
CASSETTE = HERE / "cassettes" / "worded.jsonl"
PROJECT = HERE.parents[1] / "example_project"
NOWHERE = "http://127.0.0.1:9/v1"
_SCRATCH = shutil.ignore_patterns(".*", "__pycache__")
WISH = Wish(per_situation=1, positives=4, languages=("en", "en", "en", "fr", "de", "es"), seed=11)
"""About 60 conversations of both services: one of each situation, and four right ones."""

MADE = (
    "conversations written around played calls by a language model that saw the requests alone, given over a loopback "
    "endpoint, recorded by tests/calibration/record_worded.py; one complaint that the guard makes no more (a date said "
    "in words) was struck out of a repair; token counts are estimates"
)


async def record(url: str, into: Path) -> None:
    """Ask what was not recorded yet; write the conversations of both services."""
    with TemporaryDirectory() as folder:
        # what was recorded stands on these: a scenario or a rule that the example gets later may ask for other calls
        copy = Path(
            shutil.copytree(PROJECT, Path(folder) / "project", ignore=shutil.ignore_patterns(".*", "__pycache__"))
        )
        shutil.copyfile(HERE / "worded_policies.yaml", copy / "bench" / "support" / "policies.yaml")
        for name in ("support", "weather"):
            scenarios = copy / "bench" / name / "scenarios"
            shutil.rmtree(scenarios)
            shutil.copytree(HERE / "worded_scenarios" / name, scenarios)
        sys.path.insert(0, str(copy))
        made = {
            name: await asyncio.to_thread(generate, copy / f"{name}.agentbench.yaml", WISH, environ=os.environ)
            for name in ("support", "weather")
        }
    with recording(CASSETTE, None if url else Mode.REPLAY, command="record") as recorder:
        models = Models(environ={}, recorder_of=lambda _: recorder)
        spec = ModelSpec(model="writer", base_url=url or NOWHERE, seconds=2900, retries=0, in_flight=64)
        try:
            chat = models.chat(spec, Caller(role="writer"))
            said = await asyncio.gather(*(worded(one.cases, one.plays, chat, seed=11) for one in made.values()))
        finally:
            await models.close()
    for (name, one), (cases, lost) in zip(made.items(), said, strict=True):
        print(name, sum(case.wording == "model" for case in cases), "of", len(cases), "worded", dict(lost))
        one.cases = [case for case in cases if case.wording == "model"]
        one.folder.write(into / name)
    if url:
        kept = read_cassette(CASSETTE)
        kept.made = MADE
        write_cassette(CASSETTE, kept)


if __name__ == "__main__":
    given = dict(enumerate(sys.argv[1:]))
    asyncio.run(record(given.get(0, ""), Path(given.get(1, HERE / "worded"))))
