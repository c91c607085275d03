"""Conversations that a model writes: what is commissioned, what is refused, and what the command makes of them."""

import argparse
import asyncio
import json
from pathlib import Path
from random import Random

from pytest_agentbench.calibration.labelled import Folder
from pytest_agentbench.calibration.situations import situations
from pytest_agentbench.calibration.written.commission import UNWRITTEN, Commission, commissions, tool_groups
from pytest_agentbench.calibration.written.filtering import CheckerFilter, Offered
from pytest_agentbench.calibration.written.making import written
from pytest_agentbench.calibration.written.writer import ModelWriter
from pytest_agentbench.cli.situations import add_arguments, run
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.llm.caller import Caller
from pytest_agentbench.llm.models import Models
from pytest_agentbench.testing import ModelRequest, ModelServer
from tests.calibration.service import conversations, suite


def steps(tool: str = "get_booking") -> str:
    """A conversation as a model gives it: right but for the name of the tool."""
    said = [
        ("user", "What does B171 cost?"),
        (tool, ""),
        ("agent", "The price is 93.5."),
        ("user", "Great, thank you!"),
    ]
    given = [
        {
            "by": by if by in ("user", "agent") else "call",
            "text": text if by in ("user", "agent") else by,
            "arguments": "" if by in ("user", "agent") else '{"booking_id": "B171"}',
            "result": "" if by in ("user", "agent") else '{"price": 93.5}',
            "failed": False,
        }
        for by, text in said
    ]
    return json.dumps({"steps": given})


def tools() -> Toolset:
    """The tools of the service."""
    return conversations()[0].cases[0].case.toolset


def test_commissions_are_zero_shot_for_pos_and_one_shot_for_neg() -> None:
    """A third is POS, each is about one group of tools, and what only the state shows is not asked for."""
    examples = list(conversations()[0].cases)

    drawn = list(commissions(tools(), examples, count=30, languages=("en", "fr"), seed=3))

    catalogue = situations()
    positive = [one for one in drawn if catalogue[one.situation].label == "POS"]
    assert len(positive) in (10, 11)
    assert all(one.example is None for one in positive)
    known = {case.situation for case in examples}
    for one in drawn:
        if one not in positive and one.situation in known:
            assert one.example is not None
        assert one.situation not in UNWRITTEN
        assert one.toolset in tool_groups(tools())
        assert one.user != one.agent
    assert drawn == list(commissions(tools(), examples, count=30, languages=("en", "fr"), seed=3))


def test_every_tool_is_in_a_group() -> None:
    """Groups share an argument, and none is larger than six."""
    groups = tool_groups(tools())

    assert set().union(*(group.names() for group in groups)) == tools().names()
    assert all(len(group.specs) <= 6 for group in groups)


def test_a_conversation_with_a_tool_that_is_not_there_is_asked_for_again() -> None:
    """Once, with the reason; then it is given up and counted."""
    answers = iter([steps("book_room"), steps(), steps("book_room"), steps("book_room")])
    wanted = [Commission(situation="correct", toolset=tools(), language="en", user="A", agent="B")]

    async def play(base_url: str) -> list[tuple[int, int]]:
        models = Models(environ={})
        chat = models.chat(ModelSpec(model="m", base_url=base_url, retries=0), Caller(role="writer"))
        try:
            made = [await written(wanted, ModelWriter(chat, seed=seed), CheckerFilter()) for seed in (1, 2)]
            return [(len(one.kept), one.failed.total()) for one in made]
        finally:
            await models.close()

    with ModelServer(lambda _request: next(answers)) as server:
        counted = asyncio.run(play(server.base_url))

    assert counted == [(1, 0), (0, 1)]
    assert "there is no tool 'book_room'" in str(server.requests[1].messages[-1]["content"])


def test_the_checker_is_a_filter_without_a_model() -> None:
    """It lets a played conversation through under its own situation alone."""
    case = next(one for one in conversations()[0].cases if one.situation == "correct")
    review = CheckerFilter()

    own = asyncio.run(review(Offered(situation="correct", case=case.case)))
    other = asyncio.run(review(Offered(situation="trace-leak", case=case.case)))

    assert own.fits
    assert not other.fits
    assert other.reason


def test_the_command_keeps_what_the_filter_lets_through(tmp_path: Path) -> None:
    """As silver, beside what was played; what was held back is told with the reason."""
    random = Random(0)

    def answer(request: ModelRequest) -> str:
        if request.body["model"] == "writer":
            group = request.messages[1]["content"]
            return steps("get_booking" if '"get_booking"' in group else "get_room").replace(
                "booking_id", "booking_id" if '"get_booking"' in group else "room_id"
            )
        return json.dumps({"reason": "the user asks for nothing", "fits": random.random() < 0.5})

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    into = tmp_path / "labelled"
    with ModelServer(answer) as server:
        reach = ["--model", "writer", "--filter-model", "filter", "--base-url", server.base_url, "--written", "8"]
        few = ["--only", "correct", "--right", "4", "--each", "1", "--language", "en", "--into", str(into)]
        text, status = run(parser.parse_args([str(suite(tmp_path)), *few, *reach]))

    silver = [case for case in Folder.read(into).cases if case.grade == "silver"]
    assert status == 0
    assert 0 < len(silver) < 8
    assert f"written by a model: {len(silver)} let through (silver)" in text
    assert "the user asks for nothing" in text
