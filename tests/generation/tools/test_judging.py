"""Walks chosen by a judge: the plausible ones, without losing what they cover; by rule and by a model."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from pytest_agentbench.core.errors import UnusableAnswerError
from pytest_agentbench.generation.run import Asked, generate
from pytest_agentbench.generation.tools.artifacts import SCORES
from pytest_agentbench.generation.tools.data_types import END_OF_SIMULATION, RUN_CONVERSATION, Walk
from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.walks.coverage import Covered, covered_by
from pytest_agentbench.generation.tools.walks.plausibility import scored_by_chain
from pytest_agentbench.generation.tools.walks.walk_sampling import Sampler, Shape, class_of, drawn
from pytest_agentbench.generation.tools.walks.weights import Conditioned
from pytest_agentbench.testing import ModelServer
from pytest_agentbench.testing.script import ModelRequest
from tests.generation.tools.making import run, suite_in
from tests.generation.tools.test_graph import cards, flow, graph

GIVEN = cards("find", "look", "act", flows=(flow("find", "look", "place"), flow("find", "act", "place")))
CHAIN = Conditioned(graph(GIVEN), build_taxonomy(GIVEN), {"find": 3})


def walk(*nodes: str) -> Walk:
    """A walk with these turns, `|` between them."""
    path = " | ".join(nodes).split()
    return Walk(
        id="-".join(nodes),
        nodes=(
            RUN_CONVERSATION,
            *(RUN_CONVERSATION if node == "|" else node for node in path),
            RUN_CONVERSATION,
            END_OF_SIMULATION,
        ),
    )


def test_without_a_model_fetching_again_is_less_plausible_than_going_on() -> None:
    """The chain scores a walk that uses what it fetched above one that fetches the same kind thrice."""
    going_on, again = scored_by_chain(CHAIN, (walk("find look", "act"), walk("find", "find", "find"))).scores

    assert 0 < again < going_on <= 1


def test_the_best_are_kept_and_what_all_cover_stays_covered() -> None:
    """Half of the walks go; each class keeps its share, and no tool or edge is lost."""
    sampler = Sampler(graph(GIVEN), Shape(shortest=4), seed=2)
    walks = drawn(sampler, 40)
    scores = [Random(n).random() for n in range(len(walks))]

    sampler.choose(20, walks, scores)
    kept = drawn(sampler, 20)

    everything, left = Covered(), Covered()
    for one in walks:
        everything |= covered_by(one.nodes)
    for one in kept:
        left |= covered_by(one.nodes)
    assert left.tools == everything.tools
    assert left.edges == everything.edges
    ranked = Counter(class_of(one) for one in kept)
    assert abs(2 * ranked["simple"] - Counter(map(class_of, walks))["simple"]) <= 2
    means = [sum(scores[walks.index(one)] for one in kept) / 20, sum(scores) / len(scores)]
    assert means[0] > means[1]
    assert sampler.draw() not in walks


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stages of the library up to its pool, which are taken up from their files."""
    folder = tmp_path_factory.mktemp("staged")
    run(suite_in(folder, "library", "count: 1, seed: 7"), until="walks")
    return folder / "generated"


@pytest.fixture
def folder(tmp_path: Path, staged: Path) -> Path:
    """A folder with these stages done."""
    shutil.copytree(staged, tmp_path / "generated")
    return tmp_path


def test_a_recipe_that_asks_for_candidates_has_them_judged_once(folder: Path) -> None:
    """The scores are kept beside the walks, and the same seed chooses the same walks."""
    path = suite_in(folder, "library", "count: 4, seed: 7, candidates: 5, nodes: {min: 5, max: 8}")

    first = run(path, until="walks")
    walks = (folder / "generated/walks.json").read_bytes()
    scores = json.loads((folder / "generated" / SCORES).read_text())["scores"]
    again = run(path, until="walks")

    assert first.lines[1] == again.lines[1] == "4 walks"
    assert len(scores) == 20
    assert (folder / "generated/walks.json").read_bytes() == walks


@pytest.mark.parametrize("ratings", [lambda n: [5] * (n - 1), lambda n: [11] * n])
def test_a_model_that_rates_badly_is_refused(folder: Path, ratings: Callable[[int], list[int]]) -> None:
    """Ratings are one for each walk, from 0 to 10; nothing stands in for them."""

    def player(request: ModelRequest) -> str:
        walks = json.loads(request.last.split("\n", 1)[1].rsplit("\n", 1)[0])["walks"]
        return json.dumps({"ratings": ratings(len(walks))})

    with ModelServer(player) as server, pytest.raises(UnusableAnswerError, match="one each, from 0 to 10"):
        generate(Asked(suite=_judged(folder, server), until="walks"), environ={}, told=lambda _: None)


def test_a_model_that_rates_badly_once_is_told_what_was_wrong(folder: Path) -> None:
    """It is asked once more, with its answer and the fault."""
    seen: list[dict[str, object]] = []

    def player(request: ModelRequest) -> str:
        data = json.loads(request.last.split("\n", 1)[1].rsplit("\n", 1)[0])
        seen.append(data)
        return json.dumps({"ratings": [5] * (len(data["walks"]) - ("faults" not in data))})

    with ModelServer(player) as server:
        outcome = generate(Asked(suite=_judged(folder, server), until="walks"), environ={}, told=lambda _: None)

    assert outcome.lines[1] == "8 walks"
    assert ["faults" in one for one in seen] == [False, True, False, True]
    assert "give 20, one each, from 0 to 10" in str(seen[1]["faults"])


def test_a_model_plays_the_judge_of_walks(folder: Path) -> None:
    """It sees tools and walks, and what it rates highest comes first among what covers as much."""
    seen: list[int] = []

    def player(request: ModelRequest) -> str:
        walks = json.loads(request.last.split("\n", 1)[1].rsplit("\n", 1)[0])["walks"]
        seen.append(len(walks))
        return json.dumps({"ratings": [10 if "get_book" in one else 0 for one in walks]})

    with ModelServer(player) as server:
        outcome = generate(Asked(suite=_judged(folder, server), until="walks"), environ={}, told=lambda _: None)

    assert seen == [20, 4]
    assert outcome.lines[1] == "8 walks"


def _judged(folder: Path, server: ModelServer) -> Path:
    llm = f"llm: {{model: scripted, base_url: '{server.base_url}'}}"
    return suite_in(folder, "library", f"count: 8, seed: 7, candidates: 3, roles: [weigher], {llm}")
