"""Has a language model, as the critic, read told stories: sound ones, and ones with a slip that no rule sees.

    python -m tests.generation.record_critic URL

Each line of `recorded/critic/stories.jsonl` is a story with whether it is sound. A slip states a value of something
else than the result does; all its values stand somewhere, so that only a reader notices. One user asks the same thrice.
"""

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pytest_agentbench.generation.tools.stories.critic import CriticGiven, Critique
from pytest_agentbench.generation.tools.stories.critic_llm import ModelCritic

from pytest_agentbench.cli.recording import recording
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.generation.tools.values import Cards, Story
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.cassette.file import read_cassette, write_cassette
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.models import Models

RECORDED = Path(__file__).parent / "recorded" / "critic"
CASSETTE = RECORDED / "cassette.jsonl"
MADE = "a language model answered through a loopback endpoint; it saw the requests alone; token counts are estimates"


@dataclass(frozen=True)
class Case:
    """One story, and whether a critic should accept it."""

    name: str
    sound: bool
    story: Story


def cases() -> list[Case]:
    """Read the stories."""
    lines = (RECORDED / "stories.jsonl").read_text(encoding="utf-8").splitlines()
    return [Case(one["name"], one["sound"], Story.model_validate(one["story"])) for one in map(json.loads, lines)]


async def judged(mode: Mode, url: str = "http://127.0.0.1:9/v1") -> dict[str, Critique]:
    """Have all stories read at once; give what was said of each, by its name."""
    with recording(CASSETTE, mode, command="record_critic") as recorder:
        models = Models(environ={}, recorder_of=lambda _: recorder)
        spec = ModelSpec(model="language-model", base_url=url, api_key="none", seconds=2900, retries=0)
        chat = models.chat(spec, Caller(role="critic"))
        try:
            given = {case.name: CriticGiven(story=case.story, cards=Cards(cards=())) for case in cases()}
            said = await asyncio.gather(*(ModelCritic(chat, Random(name))(one) for name, one in given.items()))
        finally:
            await models.close()
    return dict(zip(given, said, strict=True))


async def record(url: str) -> None:
    """Ask what was not recorded yet, and print what was said."""
    said = await judged(Mode.RECORD, url)
    for case in cases():
        one = said[case.name]
        print("as it should" if one.is_coherent == case.sound else "NOT SO", case.sound, case.name, one.reason)
    kept = read_cassette(CASSETTE)
    kept.made = MADE
    write_cassette(CASSETTE, kept)


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1]))
