"""Where transition probabilities come from, and what a conversation already holds."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.generation.tools.data_types import END_OF_SIMULATION, RUN_CONVERSATION, Graph
from pytest_agentbench.generation.tools.graph.taxonomy import build_taxonomy
from pytest_agentbench.generation.tools.walks.weights import Conditioned, from_walks, weigh, with_rows
from pytest_agentbench.generation.tools.walks.weights_llm import weighed_by_model
from pytest_agentbench.llm.reply import ChatReply
from tests.generation.tools.test_graph import cards, flow, graph, row_sums
from tests.tables import each
from tests.users.llm.chat import PlayedChat

GIVEN = cards("find", "look", "act", flows=(flow("find", "look", "place"), flow("find", "act", "place")))


def weight(made: Graph, source: str, target: str) -> float:
    """The weight of an edge."""
    return next(edge.weight for edge in made.edges if (edge.source, edge.target) == (source, target))


def called(*tools: str) -> list[dict[str, Any]]:
    """An agent's message with calls, and their results."""
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
        for n, tool in enumerate(tools)
    ]
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": "x"} for n in range(len(tools))]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


USER = {"role": "user", "content": "Hello."}
SAID = {"role": "assistant", "content": "Done."}


def test_recorded_conversations_weigh_what_they_did(tmp_path: Path) -> None:
    """OpenAI-format logs are counted; what was never done stays possible, and rows sum to 1."""
    log = tmp_path / "log.jsonl"
    conversation = [USER, *called("find"), *called("look"), SAID, USER, *called("find"), *called("look"), SAID]
    log.write_text("".join(json.dumps({"messages": conversation}) + "\n" for _ in range(10)))

    made = weigh(graph(GIVEN), traces=[log])

    assert made.weights == "traces"
    assert weight(made, "find", "look") > 0.9
    assert 0 < weight(made, "find", "act") < 0.1
    assert weight(made, RUN_CONVERSATION, "find") > 5 * weight(made, RUN_CONVERSATION, "act")
    assert all(total == pytest.approx(1) for total in row_sums(made).values())


def test_recordings_of_tau2_and_our_own_weigh_too(tmp_path: Path) -> None:
    """The three kinds of recordings say the same of the same conversation."""
    calls = [{"id": "c", "name": "act", "arguments": {}}]
    result = {"role": "tool", "id": "c", "content": "x", "requestor": "assistant"}
    tau2 = tmp_path / "tau2.json"
    messages = [USER, {"role": "assistant", "content": None, "tool_calls": calls}, result, SAID]
    tau2.write_text(json.dumps({"task_id": "1", "termination_reason": "user_stop", "messages": messages}))
    own = tmp_path / "own.jsonl"
    said = {"role": "assistant", "content": None, "tool_calls": calls}
    answered = {"role": "tool", "content": "x", "tool_call_id": "c"}
    own.write_text(json.dumps({"key": "a", "termination": "FINISHED", "messages": [USER, said, answered, SAID]}) + "\n")

    weights = [weight(weigh(graph(GIVEN), traces=[file]), RUN_CONVERSATION, "act") for file in (tau2, own)]

    assert weights[0] == weights[1] > weight(weigh(graph(GIVEN)), RUN_CONVERSATION, "act")


def test_a_broken_log_is_an_error_with_its_line(tmp_path: Path) -> None:
    """What cannot be read is named."""
    log = tmp_path / "log.jsonl"
    log.write_text('{"messages": 5}\n')

    with pytest.raises(SuiteError, match=r"log\.jsonl:1:1"):
        weigh(graph(GIVEN), traces=[log])


@given(
    st.lists(
        st.lists(st.sampled_from([RUN_CONVERSATION, "find", "look", "act", "nowhere", END_OF_SIMULATION]), max_size=8)
    ),
    st.dictionaries(st.sampled_from([RUN_CONVERSATION, "find"]), st.dictionaries(st.text(), st.floats(-5, 5))),
)
def test_rows_sum_to_one_whatever_is_counted(walks: list[list[str]], rows: dict[str, dict[str, float]]) -> None:
    """Walks and shares of any kind leave a graph of probabilities."""
    for made in (from_walks(graph(GIVEN), walks, named="x"), with_rows(graph(GIVEN), rows, named="x")):
        assert all(total == pytest.approx(1) for total in row_sums(made).values())
        assert all(edge.weight >= 0 for edge in made.edges)


def test_fetching_again_what_is_held_is_improbable() -> None:
    """A second lookup of the same, with nothing done with the first, is unlikely; what it was fetched for is not."""
    conditioned = Conditioned(graph(GIVEN), build_taxonomy(GIVEN))

    fresh = conditioned.row([RUN_CONVERSATION])
    after = conditioned.row([RUN_CONVERSATION, "find", RUN_CONVERSATION])
    used = conditioned.row([RUN_CONVERSATION, "find", "look", RUN_CONVERSATION])

    assert sum(after.values()) == pytest.approx(1)
    assert after["find"] < 0.3 * fresh["find"]
    assert after["act"] > fresh["act"]
    assert used["find"] == pytest.approx(fresh["find"])


class Patient(PlayedChat):
    """Answers nobody until so many have asked, the last one first: everything on the first edge of a node."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.waiting: list[asyncio.Event] = []
        self.count = count

    async def complete(self, messages: Sequence[dict[str, Any]], **options: Any) -> ChatReply:
        """Wait for the others, then for those that asked later."""
        del options
        mine = asyncio.Event()
        self.waiting.append(mine)
        if len(self.waiting) == self.count:
            mine.set()
        await mine.wait()
        if (place := self.waiting.index(mine)) > 0:
            self.waiting[place - 1].set()
        text = str(messages[-1]["content"])
        record = json.loads(text[text.index("{") : text.rindex("}") + 1])
        shares = [{"node": record["may_follow"][0], "share": 100}]
        return ChatReply(content=json.dumps({"shares": shares}))


def test_a_model_is_asked_of_all_nodes_at_once_and_each_answer_is_for_its_node() -> None:
    """No answer comes before all questions, and the first question is answered last."""
    made = graph(GIVEN)
    several = [node for node in (RUN_CONVERSATION, *made.tools) if sum(edge.source == node for edge in made.edges) > 1]
    chat = Patient(len(several))

    weighed = asyncio.run(weighed_by_model(chat, made, GIVEN, Random(1)))

    assert len(several) > 1
    assert len(chat.waiting) == len(several)
    for node in several:
        targets = [edge.target for edge in made.edges if edge.source == node]
        assert weight(weighed, node, targets[0]) > 0.9
        assert sum(weight(weighed, node, target) for target in targets) == pytest.approx(1)


@each(
    ("given", "why"),
    [({}, "none were given"), ({"The": -0.1, "A": -3.0}, "none of the 2 likeliest first tokens is its number")],
)
def test_log_probabilities_without_a_number_are_told_and_shares_asked_for(given: dict[str, float], why: str) -> None:
    """What was missing is said, with the key that asks for more, and the structured question takes its place."""
    made = graph(GIVEN)
    shares = json.dumps({"shares": [{"node": "find", "share": 100}]})
    chat = PlayedChat(*[ChatReply(content="The step", first_logprobs=given), ChatReply(content=shares)] * 9)
    chat.spec = ModelSpec(model="played", extra_body={"logprobs": True}, in_flight=1)
    lines: list[str] = []

    asyncio.run(weighed_by_model(chat, made, GIVEN, Random(1), told=lines.append))

    assert any(why in line and "top_logprobs" in line for line in lines)
