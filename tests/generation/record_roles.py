"""Has a language model type data, and tell walks as narrator, critic and persona; keeps what it said as a cassette.

    python -m tests.generation.record_roles SUITE URL

A suite is a folder in `recorded/roles`: a recipe, the taxonomy and the walks, and what was said. The cards and the pool
in `shared` are of all of them, so that nothing that is asked hangs on how tools are probed or walks are drawn today.
Delete the cassette to ask anew.
"""

import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from pytest_agentbench.cli.recording import recording
from pytest_agentbench.environment.isolation import IsolationGate
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.recipe import hashes_of, recipe_of
from pytest_agentbench.generation.tools.graph.taxonomy_llm import typed_by_model
from pytest_agentbench.generation.tools.making import Made, Maker
from pytest_agentbench.generation.tools.recruiting.pool import pool_of
from pytest_agentbench.generation.tools.recruiting.stock import Stock
from pytest_agentbench.generation.tools.roles import Roles
from pytest_agentbench.generation.tools.stage_files import CARDS, TAXONOMY, load
from pytest_agentbench.generation.tools.storing import POOL, WALKS
from pytest_agentbench.generation.tools.values import Cards, Taxonomy, Walk
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.cassette.file import read_cassette, write_cassette
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.seams import Chat
from pytest_agentbench.results.files import read_lines
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.validation.scenario import Shared

RECORDED = Path(__file__).parent / "recorded" / "roles"
WEATHER = Path(__file__).parents[2] / "example_project" / "weather"
SUITE = "weather.agentbench.yaml"
CASSETTE = "cassette.jsonl"
MADE = "a language model answered through a loopback endpoint; it saw the requests alone; token counts are estimates"


def cards() -> Cards:
    """Read the cards that all suites share."""
    read = load(RECORDED / "shared" / CARDS, Cards)
    assert read is not None
    return read


async def told(suite: str, models: Models, url: str) -> tuple[list[Made], Roles]:
    """Have the walks of a suite told by the model at `url`, one after the other; give the scenarios, and who was asked.

    Raise `RejectedError` for a walk that becomes no scenario.
    """
    with tempfile.TemporaryDirectory(prefix="agentbench-") as directory:
        folder = Path(directory)
        shutil.copy(RECORDED / suite / SUITE, folder)
        shutil.copytree(WEATHER, folder / "weather")
        read = load_suite(folder / SUITE, environ={}, generating=True)
        recipe, toolset = recipe_of(read), load_toolset(read.environment, read.root)
        assert recipe.model is not None
        spec = recipe.model.model_copy(update={"base_url": url})
        roles = Roles(recipe, lambda role: models.chat(spec, Caller(role=role)))
        taxonomy = load(RECORDED / suite / TAXONOMY, Taxonomy)
        assert taxonomy is not None
        pool = pool_of(list(read_lines(RECORDED / "shared" / POOL))[1:])
        maker = Maker(
            suite=read,
            toolset=toolset,
            stock=Stock(world=world_of(read, toolset=toolset), cards=cards(), taxonomy=taxonomy, pool=pool),
            roles=roles,
            hashes=hashes_of(read, toolset),
            shared=Shared(isolation=IsolationGate(folder), now=time.monotonic, seed=recipe.seed, mutate=False),
            seed=recipe.seed,
        )
        made: list[Made] = []
        for record in list(read_lines(RECORDED / suite / WALKS))[1:]:
            made.append(await maker.make(Walk.model_validate(record), (recipe.languages or ("en",))[0]))
            maker.history.usage.note(made[-1].story)
        return made, roles


async def typed(chat: Chat) -> Taxonomy:
    """Have the data of the shared cards typed."""
    return await typed_by_model(chat, cards(), Random("taxonomy"))


async def record(suite: str, url: str) -> None:
    """Ask what was not recorded yet, and print what was made of it."""
    cassette = RECORDED / suite / CASSETTE
    with recording(cassette, None, command="record_roles") as recorder:
        models = Models(environ={}, recorder_of=lambda _: recorder)
        try:
            made, roles = await told(suite, models, url)
            if (chat := roles.chat("taxonomist")) is not None:
                await typed(chat)
        finally:
            await models.close()
    for one in made:
        print(one.story.id, one.forms[0]["says"])
    print(roles.calls)
    kept = read_cassette(cassette)
    kept.made = MADE
    write_cassette(cassette, kept)


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1], sys.argv[2]))
