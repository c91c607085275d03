"""A prober's model that answers slowly: what it takes is no time of the tools."""

import asyncio
import json
from pathlib import Path

from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.tools.probing.probing import probe
from pytest_agentbench.generation.tools.values import Cards
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.models import Models
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.testing import ModelServer
from pytest_agentbench.testing.request import ModelRequest
from tests.generation.tools.making import suite_in

DAY = 86_400.0


def test_what_a_model_takes_to_answer_is_no_time_of_probing(tmp_path: Path) -> None:
    """Each answer comes a day later, and no tool is given up for that."""
    clock = [0.0]

    def player(request: ModelRequest) -> str:
        clock[0] += DAY
        return json.dumps({"arguments": []} if "examine the tools" in request.system else {"calls": []})

    async def probed(server: ModelServer) -> Cards:
        suite = load_suite(suite_in(tmp_path, "library", "count: 1, seed: 7"), environ={}, generating=True)
        world = world_of(suite, toolset=load_toolset(suite.environment, suite.root))
        world.now = lambda: clock[0]
        models = Models(environ={})
        try:
            chat = models.chat(ModelSpec(model="scripted", base_url=server.base_url), Caller(role="prober"))
            return await probe(world, seed=7, chat=chat)
        finally:
            await models.close()

    with ModelServer(player) as server:
        cards = asyncio.run(probed(server))

    assert clock[0] >= 2 * DAY
    assert [card.partial for card in cards.cards if "probing" in card.partial] == []
