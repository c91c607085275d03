"""What a language model made of generated scenarios: its answers were recorded, and are played again here."""

import asyncio
import re
import shutil
from pathlib import Path

import pytest
from pytest_agentbench.generation.tools.making import Made
from pytest_agentbench.generation.tools.stories.critic import summary_faults

from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.generation.tools.graph.graph import build_graph
from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.values import Taxonomy
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.models import Models
from pytest_agentbench.results.document import read
from pytest_agentbench.testing import ModelServer
from tests.generation.answering import Again
from tests.generation.record_critic import cases, judged
from tests.generation.record_roles import WEATHER, cards, told, typed

RECORDED = Path(__file__).parent / "recorded"
ABOUT = re.compile(r"Paris|Saint-Lô|Bar-le-Duc|Nancy|Caen|Aurillac|Dunkerque|Versailles|Évreux|d[eé]part\w+ \d\d")
"""What the pool of the recorded suites knows."""


def test_a_language_model_as_the_agent_passes_generated_scenarios(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It saw user lines and tool schemas alone; ten scenarios of the weather service, written without a model."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    shutil.copytree(RECORDED / "agent", pytester.path, dirs_exist_ok=True)
    shutil.copytree(WEATHER, pytester.path / "weather")

    pytester.runpytest_inprocess("--agentbench", "-p", "agentbench", "--agentbench-cassette=replay")

    results = read(pytester.path / ".agentbench" / "results.json").results
    assert len(results) == 10
    assert sum(result.passed for result in results) == 10


@pytest.mark.parametrize(
    ("suite", "calls"),
    [
        ("one", {"narrator": 12, "critic": 2, "persona": 2}),
        ("two", {"narrator": 20, "critic": 2, "persona": 2}),
        ("three", {"narrator": 58, "critic": 5, "persona": 5}),
    ],
)
def test_a_language_model_as_narrator_critic_and_persona_gives_grounded_scenarios(
    suite: str, calls: dict[str, int]
) -> None:
    """Each walk became a valid scenario in its words: none was lost, and no answer had to be given again.

    In the second suite users speak French, the third has longer conversations. No two conversations of a suite begin
    with the same place.
    """
    again = Again(RECORDED / "roles" / suite / "cassette.jsonl")

    made, asked = asyncio.run(retold(suite, again))

    assert asked == calls
    assert set(again.left) <= {"taxonomist"}
    lines = [[str(line) for line in one.forms[0]["says"]] for one in made]  # type: ignore[union-attr]
    assert len({found[0] for said in lines if (found := ABOUT.search(said[0]))}) == len(made) == calls["critic"]
    assert not any(re.search(r"\d[.,]\d", line) for said in lines for line in said)


def test_a_language_model_as_taxonomist_finds_the_edges_that_were_observed() -> None:
    """One question over all cards; nine edges by types, as the values that were handed on show."""
    again = Again(RECORDED / "roles" / "one" / "cassette.jsonl")

    taxonomy = asyncio.run(retyped(again))

    edges = {(edge.source, edge.target) for edge in build_graph(cards(), taxonomy).edges if edge.via}
    observed = {(edge.source, edge.target) for edge in build_graph(cards(), build_taxonomy(cards())).edges if edge.via}
    assert edges == observed
    assert len(edges) == 9


def test_a_language_model_as_critic_tells_sound_stories_from_others() -> None:
    """It accepts eight sound stories and none of eight others, of which rules refuse one; its texts hold no fault."""
    said = asyncio.run(judged(Mode.REPLAY))

    assert {case.name: said[case.name].is_coherent for case in cases()} == {case.name: case.sound for case in cases()}
    accepted = [(said[case.name], case.story) for case in cases() if case.sound]
    assert [str(fault) for critique, story in accepted for fault in summary_faults(critique, story, cards())] == []


async def retold(suite: str, again: Again) -> tuple[list[Made], dict[str, int]]:
    """Tell the walks of a suite with recorded answers; give the scenarios, and how often each role was asked."""
    models = Models(environ={})
    with ModelServer(again) as server:
        try:
            made, roles = await told(suite, models, server.base_url)
        finally:
            await models.close()
    return made, {role: count for role, count in roles.calls.items() if count}


async def retyped(again: Again) -> Taxonomy:
    """Type the data of the shared cards with a recorded answer."""
    models = Models(environ={})
    with ModelServer(again) as server:
        spec = ModelSpec(model="language-model", base_url=server.base_url, api_key="none")
        try:
            return await typed(models.chat(spec, Caller(role="taxonomist")))
        finally:
            await models.close()
