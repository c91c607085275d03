"""What a language model made of the roles of the pipeline: its answers were recorded, and are played again here."""

import asyncio
import statistics
from pathlib import Path

import pytest
from pytest_agentbench.generation.policies.events.checking import RowChecker
from pytest_agentbench.generation.policies.events.preparing import extraction_of
from pytest_agentbench.generation.policies.events.user import leaks

from pytest_agentbench.generation.policies.graph.graph import GraphInput, shared_graph
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.cassette.recorder import CassetteRecorder
from pytest_agentbench.llm.models import Models
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.policies.kit import maker_for
from tests.generation.policies.record import CASSETTE, Given, play, player, read_cases, spec, suite_file

SUITES = ("support", "airline")


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory):
    """Every case with what the model made of it, by suite, role and name; nothing is asked anew."""
    return asyncio.run(_replayed(tmp_path_factory.mktemp("roles")))


async def _replayed(folder: Path):
    recorder = CassetteRecorder(Mode.REPLAY, CASSETTE, shard=None, redact=lambda value: value)
    models = Models(environ={}, recorder_of=lambda _: recorder)
    found = {}
    for suite in SUITES:
        file = suite_file(suite, folder)
        maker = await maker_for(file, seed=11)
        extraction = extraction_of(load_suite(file, environ={}, generating=True).policies)
        for given in read_cases():
            if given.suite == suite:
                made = await play(given, maker, extraction, player(models, spec().base_url, given))
                found[given.name] = (given, maker, extraction, made)
    await models.close()
    return found


def of_role(replayed, role: str, suite: str = ""):
    """Give the cases of a role."""
    return [one for one in replayed.values() if one[0].role == role and suite in ("", one[0].suite)]


def test_every_row_that_the_model_wrote_is_consistent(replayed):
    """11 of 11 events; six of them only since references that the schema does not declare are carried along."""
    cases = of_role(replayed, "rower")

    faults = [fault for _, maker, _, made in cases for fault in RowChecker(maker.rows.ground).check(made.rows)]

    assert len(cases) == 11
    assert faults == []


def test_undeclared_references_follow_the_keys_that_the_model_chose(replayed):
    """The shop's addresses hold the id of a customer or of an order, and no foreign key says so."""
    for given, _, _, made in of_role(replayed, "rower", "support"):
        planned = {row.symbol: row for row in given.made.rows}
        keys = {row.values["order_id"] for row in made.rows if row.table == "orders"}
        keys |= {row.values["customer_id"] for row in made.rows if row.table == "customers"}

        owners = {row.values["owner"] for row in made.rows if row.table == "addresses"}

        assert owners <= keys
        assert all(row.values != planned[row.symbol].values for row in made.rows if row.table == "customers")


def test_users_in_the_model_s_words_know_nothing_that_decides(replayed):
    """Each wish has its message with its values; policies, tools and expected behaviour are in none."""
    cases = of_role(replayed, "narrator")

    for given, maker, extraction, user in cases:
        policies = [one for one in extraction.policies if one.id in given.policies]

        assert len(user.says) == len(given.told.says)
        assert leaks(user, policies, [one.name for one in maker.oracle.tools]) == []
        assert user.expected_behaviour == given.told.expected_behaviour
    assert sum(given.language == "fr" and "je voudrais ceci" not in user.says[0] for given, _, _, user in cases) == 2


def test_the_model_weighs_every_pair(replayed):
    """Weights are 0 to 10, and agree with the twin more than not: one sees meaning, the other words."""
    for given, _, extraction, graph in of_role(replayed, "weigher"):
        twin = {(one.source, one.target): one.weight for one in shared_graph(GraphInput(extraction=extraction)).edges}
        own = {(one.source, one.target): one.weight for one in graph.edges}

        pairs = sorted(own)

        assert len(pairs) == len(extraction.policies) * (len(extraction.policies) - 1) // 2
        assert all(0 <= weight <= 10 for weight in own.values())
        both = [own[pair] for pair in pairs], [twin.get(pair, 0.0) for pair in pairs]
        print(f"{given.suite}: correlation with the twin {statistics.correlation(*both):.2f}")
        assert statistics.correlation(*both) > 0


def test_cases_are_kept_whole():
    """What was given stands beside the answers, so that later stages may change."""
    cases = read_cases()

    assert {one.role for one in cases} == {"weigher", "rower", "narrator"}
    assert all(isinstance(one, Given) and (one.role == "weigher" or one.policies) for one in cases)
