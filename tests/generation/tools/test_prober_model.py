"""A prober's model: what it takes to answer is no time of the tools, and what was tried it is shown."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.tools.data_types import Cards
from pytest_agentbench.generation.tools.probing.prober import probe
from pytest_agentbench.generation.tools.world import world_of
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.testing import ModelServer
from pytest_agentbench.testing.script import ModelRequest
from tests.generation.tools.making import suite_in

DAY = 86_400.0


def probed_with(folder: Path, player: Callable[[ModelRequest], str], clock: Callable[[], float] | None = None) -> Cards:
    """Probe the library with a model that a function plays."""

    async def probed(server: ModelServer) -> Cards:
        suite = load_suite(suite_in(folder, "library", "count: 1, seed: 7"), environ={}, generating=True)
        world = world_of(suite, toolset=load_toolset(suite.environment, suite.root))
        world.now = clock or world.now
        models = Models(environ={})
        try:
            chat = models.chat(ModelSpec(model="scripted", base_url=server.base_url), Caller(role="prober"))
            return await probe(world, seed=7, chat=chat)
        finally:
            await models.close()

    with ModelServer(player) as server:
        return asyncio.run(probed(server))


def test_what_a_model_takes_to_answer_is_no_time_of_probing(tmp_path: Path) -> None:
    """Each answer comes a day later, and no tool is given up for that."""
    clock = [0.0]

    def player(request: ModelRequest) -> str:
        clock[0] += DAY
        return json.dumps({"arguments": []} if "examine the tools" in request.system else {"calls": []})

    cards = probed_with(tmp_path, player, lambda: clock[0])

    assert clock[0] >= 2 * DAY
    assert [card.partial for card in cards.cards if "probing" in card.partial] == []


def test_a_model_is_shown_the_arguments_of_every_call(tmp_path: Path) -> None:
    """What failed in the same way stands without its answer, shortened: no call that was made is proposed again."""
    asked: dict[str, Any] = {}

    def player(request: ModelRequest) -> str:
        if "examine the tools" in request.system:
            return json.dumps({"arguments": []})
        found = re.search(r"BEGIN (\w+)\n(.*)\nEND \1", str(request.messages[1]["content"]), re.DOTALL)
        assert found is not None
        record = json.loads(found[2])
        asked[record["declaration"]["name"]] = record
        assert "`tried`" in request.system
        return json.dumps({"calls": []})

    cards = probed_with(tmp_path, player)

    assert set(asked) == {card.tool for card in cards.cards}
    for tool, record in asked.items():
        card = cards.get(tool)
        assert card is not None
        told = [json.dumps(call["arguments"], sort_keys=True) for call in record["calls"]]
        told += [json.dumps(json.loads(text), sort_keys=True) for text in record["tried"] if text.endswith("}")]
        assert len(record["tried"]) <= 60
        assert all(len(text) <= 160 for text in record["tried"])
        # the effects of arguments are tried after the model was asked
        made = [probe for probe in card.probes if probe.kind != "cross_parameter" and len(str(probe.arguments)) < 120]
        assert {json.dumps(probe.arguments, sort_keys=True) for probe in made} <= set(told)
