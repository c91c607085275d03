"""Has a language model judge what only the state shows, with evidence and without, by the rubric that SCOPE learned.

    python -m tests.calibration.record_state [WITH_URL WITHOUT_URL]

`trace/state_only` holds changes that were announced and not made, answers that the state contradicts, and as many
right ones. The rubric comes from the recording of `record.py`. Without addresses it prints what is recorded.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping

from pytest_agentbench.calibration.calibrate import seeded_splits
from pytest_agentbench.calibration.dataset import Labelled, read_all
from pytest_agentbench.calibration.rubric_learning import Parts, Scope
from pytest_agentbench.cli.model_options import recording
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.rubric import Label
from pytest_agentbench.llm.cassette.file import read_cassette, write_cassette
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller, Chat
from pytest_agentbench.llm.structured import AskedOnce
from tests.calibration.record import CASSETTE as LEARNED
from tests.calibration.record import FOLDERS, HERE

CASSETTE = HERE / "cassettes" / "state-only.jsonl"
FOLDER = HERE / "trace" / "state_only"
NOWHERE = "http://127.0.0.1:9/v1"

MADE = (
    "answers of a language model to what the judge of SCOPE is asked about the conversations of "
    "tests/calibration/trace/state_only, given over loopback endpoints by people and processes that saw the requests "
    "alone: `with` evidence by one reader (eight by a third, when signals were added to it), `without` by another; by "
    "tests/calibration/record_state.py; token counts are estimates"
)

Said = Mapping[str, Label | None]
"""Labels by the ids of conversations."""


async def play(chat_of: Callable[[str], Chat]) -> tuple[list[Labelled], Said, Said]:
    """Give the conversations, and what was said of them with evidence and without."""
    cases = list(read_all([FOLDER]))
    training = seeded_splits(read_all(FOLDERS), seed=1, count=1)[0].training
    teacher = AskedOnce(chat_of("teacher"))

    async def of(role: str, *, with_evidence: bool) -> Said:
        scope = Scope(chat_of(role), parts=Parts(evidence=with_evidence), seed=1, teacher=teacher)
        estimate = await scope.fit(training)
        given = await asyncio.gather(*(estimate(case) for case in cases))
        return {case.id: one for case, one in zip(cases, given, strict=True)}

    with_it, without = await asyncio.gather(of("with", with_evidence=True), of("without", with_evidence=False))
    return cases, with_it, without


async def record(urls: Mapping[str, str]) -> None:
    """Ask what was not recorded yet; `urls` gives the server of `with` and `without`."""
    learned = CassetteRecorder(Mode.REPLAY, LEARNED, shard=None, redact=lambda value: value)
    with recording(CASSETTE, None, command="record") as recorder:
        models = Models(environ={}, recorder_of=lambda caller: learned if caller.role == "teacher" else recorder)

        def chat(role: str) -> Chat:
            return models.chat(
                ModelSpec(model="judge", base_url=urls.get(role, NOWHERE), seconds=2900, retries=0), Caller(role=role)
            )

        try:
            cases, shown, not_shown = await play(chat)
        finally:
            await models.close()
    for case in cases:
        print(case.situation, case.label, "with:", shown[case.id], "without:", not_shown[case.id])
    kept = read_cassette(CASSETTE)
    kept.made = MADE
    write_cassette(CASSETTE, kept)


if __name__ == "__main__":
    asyncio.run(record(dict(zip(("with", "without"), sys.argv[1:], strict=False))))
