"""Has language models write conversations and filter them, and keeps what they said as a cassette.

    python -m tests.calibration.record_written WRITER_URL FILTER_URL

The tools are those of the conversations in `trace/`, as are the examples. The filter is also offered conversations
under a situation that is not theirs, so that it has something to refuse whatever the writer does.
"""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from pytest_agentbench.calibration.dataset import Folder, Labelled
from pytest_agentbench.calibration.model_conversations import Written, commissions, offers, written
from pytest_agentbench.cli.model_options import recording
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.llm.cassette.file import read_cassette, write_cassette
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller, Chat

HERE = Path(__file__).parent
CASSETTE = HERE / "cassettes" / "written.jsonl"
COUNT = 16
"""Conversations for each of the two environments."""
SEEDS = {"support": 3, "weather": 4}
LANGUAGES = ("en", "en", "en", "fr")

MADE = (
    "conversations that a language model wrote, and what another one said of whether they are of their situation, "
    "given over loopback endpoints by people and processes that saw the requests alone, recorded by "
    "tests/calibration/record_written.py; token counts are estimates"
)


async def play(chat_of: Callable[[str], Chat]) -> dict[str, Written]:
    """Write and filter; give what came of each environment."""

    async def of(name: str) -> Written:
        folder = Folder.read(HERE / "trace" / name)
        toolset, examples = folder.cases[0].toolset, list[Labelled](folder.cases)
        wanted = list(commissions(toolset, examples, count=COUNT, languages=LANGUAGES, seed=SEEDS[name]))
        wrong = offers(examples, SEEDS[name], rightly=False)
        return await written(wanted, chat_of("writer"), chat_of("filter"), wrong=wrong)

    names = tuple(SEEDS)
    return dict(zip(names, await asyncio.gather(*map(of, names)), strict=True))


async def record(urls: dict[str, str]) -> None:
    """Ask what was not recorded yet, all at once; `urls` gives the server of each role."""
    with recording(CASSETTE, None, command="record") as recorder:
        models = Models(environ={}, recorder_of=lambda _: recorder)

        def chat(role: str) -> Chat:
            spec = ModelSpec(model=role, base_url=urls[role], seconds=2900, retries=0)
            return models.chat(spec, Caller(role=role))

        try:
            made = await play(chat)
        finally:
            await models.close()
    for name, one in made.items():
        print(name, len(one.kept), "kept", len(one.refused), "refused", dict(one.failed))
        print("  misnamed that were held back:", one.caught, "of", one.misnamed)
        for case, reason in one.refused:
            print("  refused", case.id, reason)
    kept = read_cassette(CASSETTE)
    kept.made = MADE
    write_cassette(CASSETTE, kept)


if __name__ == "__main__":
    asyncio.run(record({"writer": sys.argv[1], "filter": sys.argv[2]}))
