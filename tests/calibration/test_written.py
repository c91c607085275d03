"""Conversations that a model writes: what is commissioned, what is refused, and what the command makes of them."""

import argparse
import asyncio
import json
import re
from pathlib import Path
from random import Random

from pytest_agentbench.calibration.dataset import Folder, situations
from pytest_agentbench.calibration.model_conversations import (
    UNWRITTEN,
    Commission,
    commissions,
    offers,
    tool_groups,
    written,
)
from pytest_agentbench.cli.situations import add_arguments, run
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.llm.models import Models
from pytest_agentbench.llm.protocols import Caller
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
    return conversations().cases[0].toolset


def test_commissions_are_zero_shot_for_pos_and_one_shot_for_neg() -> None:
    """A third is POS, each is about one group of tools, and what only the state shows is not asked for."""
    examples = list(conversations().cases)

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
    fits = json.dumps({"reason": "all holds", "fits": True})
    answers = iter([steps("book_room"), steps(), fits, steps("book_room"), steps("book_room")])
    wanted = [Commission(situation="correct", toolset=tools(), language="en", user="A", agent="B")]

    async def play(base_url: str) -> list[tuple[int, int]]:
        models = Models(environ={})
        chat = models.chat(ModelSpec(model="m", base_url=base_url, retries=0), Caller(role="writer"))
        try:
            made = [await written(wanted, chat, chat, seed=seed) for seed in (1, 2)]
            return [(len(one.kept), one.failed.total()) for one in made]
        finally:
            await models.close()

    with ModelServer(lambda _request: next(answers)) as server:
        counted = asyncio.run(play(server.base_url))

    assert counted == [(1, 0), (0, 1)]
    assert "there is no tool 'book_room'" in str(server.requests[1].messages[-1]["content"])


def test_the_filter_is_offered_wrong_situations() -> None:
    """Of the same satisfaction, and never one that only the state shows; what it lets through is counted."""
    examples = list(conversations().cases)
    wrong = offers(examples, 3, rightly=False)

    async def play(base_url: str) -> tuple[int, int]:
        models = Models(environ={})
        chat = models.chat(ModelSpec(model="m", base_url=base_url, retries=0), Caller(role="filter"))
        try:
            made = await written([], chat, chat, wrong=wrong)
            return made.caught, made.misnamed
        finally:
            await models.close()

    answers = iter([json.dumps({"reason": "seen", "fits": True}), "no JSON", "nor this"])
    refused = json.dumps({"reason": "another tool was called", "fits": False})
    with ModelServer(lambda _request: next(answers, refused)) as server:
        caught, offered = asyncio.run(play(server.base_url))

    assert len(wrong) == 8
    for one in wrong:
        assert one.situation not in UNWRITTEN
    assert (caught, offered) in {(6, 7), (7, 8)}


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
        reach = [
            "--model",
            "writer",
            "--filter-model",
            "filter",
            "--base-url",
            server.base_url,
            "--written",
            "8",
            "--worded",
            "0",
        ]
        few = ["--only", "correct", "--right", "4", "--each", "1", "--language", "en", "--into", str(into)]
        text, status = run(parser.parse_args([str(suite(tmp_path)), *few, *reach]))

    silver = [case for case in Folder.read(into).cases if case.grade == "silver"]
    assert status == 0
    assert 0 < len(silver) < 8
    assert f"written by the model: {len(silver)} let through (silver)" in text
    assert "the user asks for nothing" in text
    assert re.search(r"filter: precision 0\.\d\d \(paper 0\.91\): \d of 4 played conversations let through", text)
