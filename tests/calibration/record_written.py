"""Has language models write conversations and filter them, and keeps what they said as a cassette.

    python -m tests.calibration.record_written WRITER_URL FILTER_URL

The tools are those of the conversations in `trace/`, as are the examples. The filter is also offered conversations
under a situation that is not theirs, so that it has something to refuse whatever the writer does.
"""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from pytest_agentbench.calibration.labelled import Folder, Labelled
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.calibration.written.commission import UNWRITTEN, commissions
from pytest_agentbench.calibration.written.filtering import ModelFilter, Offered, Review
from pytest_agentbench.calibration.written.making import Made, written
from pytest_agentbench.calibration.written.writer import ModelWriter
from pytest_agentbench.cli.recording import recording
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.cassette.file import read_cassette, write_cassette
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.seams import Chat

HERE = Path(__file__).parent
CASSETTE = HERE / "cassettes" / "written.jsonl"
COUNT = 16
"""Conversations for each of the two environments."""
MISNAMED = 8
"""Conversations of each that the filter is offered under another situation."""
SEEDS = {"support": 3, "weather": 4}
LANGUAGES = ("en", "en", "en", "fr")

MADE = (
    "conversations that a language model wrote, and what another one said of whether they are of their situation, "
    "given over loopback endpoints by people and processes that saw the requests alone, recorded by "
    "tests/calibration/record_written.py; token counts are estimates"
)


def misnamed(folder: Folder, seed: int) -> list[Offered]:
    """Give conversations under a situation of the same satisfaction that is not theirs."""
    random = Random(seed)
    catalogue = situations()
    found = []
    shown = [case for case in folder.cases if case.situation not in UNWRITTEN]
    for case in random.sample(shown, MISNAMED):
        own = catalogue[case.situation]
        others = [
            one.id
            for one in catalogue.values()
            if one.user == own.user and (one.tool, one.label) != (own.tool, own.label) and one.id not in UNWRITTEN
        ]
        found.append(Offered(situation=random.choice(others), case=case.case))
    return found


async def play(chat_of: Callable[[str], Chat]) -> tuple[dict[str, Made], list[Review]]:
    """Write and filter; give what came of each environment, and the reviews of the misnamed."""
    review = ModelFilter(chat_of("filter"))

    async def of(name: str) -> Made:
        folder = Folder.read(HERE / "trace" / name)
        toolset, examples = folder.cases[0].case.toolset, list[Labelled](folder.cases)
        wanted = list(commissions(toolset, examples, count=COUNT, languages=LANGUAGES, seed=SEEDS[name]))
        return await written(wanted, ModelWriter(chat_of("writer")), review)

    names = tuple(SEEDS)
    offers = [one for name in names for one in misnamed(Folder.read(HERE / "trace" / name), SEEDS[name])]
    made, reviews = await asyncio.gather(
        asyncio.gather(*map(of, names)), asyncio.gather(*(review(offer) for offer in offers))
    )
    return dict(zip(names, made, strict=True)), list(reviews)


async def record(urls: dict[str, str]) -> None:
    """Ask what was not recorded yet, all at once; `urls` gives the server of each role."""
    with recording(CASSETTE, None, command="record") as recorder:
        models = Models(environ={}, recorder_of=lambda _: recorder)

        def chat(role: str) -> Chat:
            spec = ModelSpec(model=role, base_url=urls[role], seconds=2900, retries=0)
            return models.chat(spec, Caller(role=role))

        try:
            made, reviews = await play(chat)
        finally:
            await models.close()
    for name, one in made.items():
        print(name, len(one.kept), "kept", len(one.refused), "refused", dict(one.failed))
        for case, reason in one.refused:
            print("  refused", case.id, reason)
    print("misnamed that were let through:", sum(one.fits for one in reviews), "of", len(reviews))
    kept = read_cassette(CASSETTE)
    kept.made = MADE
    write_cassette(CASSETTE, kept)


if __name__ == "__main__":
    asyncio.run(record({"writer": sys.argv[1], "filter": sys.argv[2]}))
