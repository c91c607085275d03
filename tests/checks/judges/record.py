"""Has a language model judge the conversations, and keeps what it said as a cassette.

    python -m tests.checks.judges.record http://127.0.0.1:8790/v1 [only ...]

Answered conversations are not asked again; delete the cassette to ask anew. All are asked at once.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from random import Random

from pytest_agentbench.checks.judges.ending import EndVerdict, critique_end
from pytest_agentbench.checks.judges.model_judgement import judge_with_models
from pytest_agentbench.checks.verdict import judge
from pytest_agentbench.core.codec import digest
from pytest_agentbench.core.errors import AgentBenchError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.run import Judgement, RunKey
from pytest_agentbench.llm.cassette.file import read_cassette, write_cassette
from pytest_agentbench.llm.cassette.merge import merge
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.record_replay import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller, Chat
from tests.checks.judges.conversations import CASES, ENDINGS, POLICIES, RUBRIC, SYSTEM, Case, Ending
from tests.checks.judges.goals import RUBRIC as BY_GOAL
from tests.checks.judges.goals import WANTED, Wanted

CASSETTE = Path(__file__).parent / "cassettes" / "language-model.jsonl"
GOALS = Path(__file__).parent / "cassettes" / "goals.jsonl"

MADE = (
    "answers of a language model to the conversations of tests/checks/judges/conversations.py, given over an "
    "OpenAI-compatible server on loopback by sessions that saw the requests alone, recorded by "
    "tests/checks/judges/record.py; token counts are estimates"
)


MADE_OF_GOALS = (
    "answers of a language model to the conversations of tests/checks/judges/goals.py, given over an "
    "OpenAI-compatible server on loopback by the session that wrote these conversations, and so knew what they were "
    "made to show; one answer each, none asked for again; recorded by tests/checks/judges/record.py; token counts are "
    "estimates"
)


def spec(base_url: str = "http://127.0.0.1:9/v1") -> ModelSpec:
    """The model asked; how it is asked for JSON is fixed, so that a replay asks alike."""
    return ModelSpec(model="judge", base_url=base_url, structured="json_schema", seconds=3600, retries=0)


async def judged(case: Case, chat_for: Callable[[str], Chat]) -> Judgement:
    """Judge a conversation by code and models."""
    run = case.run.model_copy(update={"policies": POLICIES})
    return await judge_with_models(
        run,
        judge(run),
        chat_for=chat_for,
        random=seeded(case.name),
        auditor="decide",
        rubric=RUBRIC,
        policies=POLICIES,
        system=SYSTEM,
        sees="conversation",
    )


async def judged_by_goal(wanted: Wanted, chat_for: Callable[[str], Chat]) -> Judgement:
    """Judge a conversation by what its user wanted; policies are shown, and not asked about."""
    return await judge_with_models(
        wanted.run,
        judge(wanted.run),
        chat_for=chat_for,
        random=seeded(wanted.name),
        rubric=BY_GOAL,
        system=SYSTEM,
        sees="goal",
    )


async def closed(ending: Ending, chat_for: Callable[[str], Chat]) -> EndVerdict:
    """Ask whether a conversation was done."""
    random = seeded(ending.name)
    return await critique_end(chat_for("critique"), ending.run.transcript, reason="done", random=random, system=SYSTEM)


def seeded(name: str) -> Random:
    """The randomness of a conversation: the same whenever it is asked."""
    return Random(int(digest(name), 16))


def player(models: Models, base_url: str, name: str) -> Callable[[str], Chat]:
    """Give the models of one conversation."""
    key = RunKey(suite="judges", scenario=name)
    return lambda role: models.chat(spec(base_url), Caller(role=role, run=key))


def scene_of(one: Case | Ending | Wanted, chat_for: Callable[[str], Chat]) -> Awaitable[object]:
    """Play one conversation."""
    if isinstance(one, Wanted):
        return judged_by_goal(one, chat_for)
    return judged(one, chat_for) if isinstance(one, Case) else closed(one, chat_for)


async def record(base_url: str, only: Collection[str] = ()) -> None:
    """Ask what was not recorded yet; print what the model made of each conversation."""
    await _record(base_url, [one for one in (*CASES, *ENDINGS) if not only or one.name in only], CASSETTE, MADE)
    await _record(base_url, [one for one in WANTED if not only or one.name in only], GOALS, MADE_OF_GOALS)


async def _record(base_url: str, asked: Sequence[Case | Ending | Wanted], cassette: Path, made: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shard = Path(folder) / "shard.jsonl"
        recorder = CassetteRecorder(Mode.RECORD, cassette, shard=shard, redact=lambda value: value)
        models = Models(environ={}, recorder_of=lambda _: recorder)

        async def play(one: Case | Ending | Wanted) -> None:
            try:
                outcome = await scene_of(one, player(models, base_url, one.name))
            except AgentBenchError as error:  # the others are still worth keeping
                print(f"{one.name}: {error}\n", flush=True)
                return
            recorder.finished(RunKey(suite="judges", scenario=one.name))
            print(f"{one.name}: {outcome!r}\n", flush=True)

        try:
            await asyncio.gather(*map(play, asked))
        finally:
            await models.close()
            recorder.close()
            print(merge(cassette, [shard]))
            if cassette.exists():
                kept = read_cassette(cassette)
                kept.made = made
                write_cassette(cassette, kept)


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1], sys.argv[2:]))
