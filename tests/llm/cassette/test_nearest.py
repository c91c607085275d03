"""A miss says what was recorded nearest, where it stands, and the first thing that differs."""

import re

import pytest

from pytest_agentbench.core.errors import CassetteMissError, ProviderError
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.protocols import Caller
from tests.llm.cassette.talk import Bench, ask, body, counting, run, turns

AGENT = Caller(role="agent", run=run())
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "Look.", "parameters": {"type": "object"}}}
    for name in ("look", "refund")
]
START = [
    {"role": "system", "content": "Help."},
    {"role": "user", "content": "My lamp is broken. " * 20 + "It is blue, by the way, and rather old."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a lamp"},
]
FIELDS = {"temperature": 0.2, "tools": TOOLS}


def missed(bench, asked, caller=AGENT):
    """Ask what is not recorded, and give what is said about it."""
    with pytest.raises(CassetteMissError) as caught:
        bench.open(Mode.REPLAY).find(caller, asked)
    return str(caught.value)


@pytest.fixture
def recorded(tmp_path):
    """A suite in which one request is recorded."""
    bench = Bench(tmp_path, secrets=("hunter22",))
    recorder = bench.open(Mode.RECORD)
    ask(recorder, AGENT, body(START, **FIELDS), counting())
    ask(recorder, Caller(role="agent", run=run("other")), body([]), counting())
    recorder.finished(run())
    bench.merge()
    return bench


def changed(position, **members):
    """Give the messages with one of them changed."""
    return [{**message, **members} if place == position else message for place, message in enumerate(START)]


def renamed(name):
    """Give the tools with the second one under another name."""
    return [TOOLS[0], {**TOOLS[1], "function": {**TOOLS[1]["function"], "name": name}}]


BLUE = START[1]["content"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (body(START, **{**FIELDS, "temperature": 0.7}), "temperature: 0.2 was recorded, 0.7 asked"),
        (body(START, tools=TOOLS), "temperature: 0.2 was recorded, nothing asked"),
        (body(START, **FIELDS, seed=3), "seed: nothing was recorded, 3 asked"),
        (body(START, **FIELDS) | {"model": "big"}, "model: 'm' was recorded, 'big' asked"),
        (
            body(START, temperature=0.2, tools=renamed("repay")),
            "the tools differ: 'refund' was recorded, not asked, 'repay' was asked, not recorded",
        ),
        (
            body(
                START,
                temperature=0.2,
                tools=[{**TOOLS[0], "function": {**TOOLS[0]["function"], "description": "See."}}],
            ),
            "'refund' was recorded, not asked, 'look' function.description 'Look.' was recorded, 'See.' asked",
        ),
        (body(START, temperature=0.2, tools=TOOLS[::-1]), "the tools differ: they come in another order"),
        (
            body(changed(1, content=BLUE.replace("blue", "red")), **FIELDS),
            "message 2 differs: content '….* It is blue, by the .*' was recorded, '….* It is red, by the .*' asked",
        ),
        (
            body(changed(1, role="developer"), **FIELDS),
            "message 2 differs: role 'user' was recorded, 'developer' asked",
        ),
        (
            body(changed(2, content="Well,"), **FIELDS),
            'message 3 differs: content nothing was recorded, "Well," asked',
        ),
        (
            body(START[:3], **FIELDS),
            'recorded: 4 messages, asked: 3; message 4 is missing: .*"a lamp"',
        ),
        (
            body([*START, {"role": "user", "content": "\x1b[31mhunter22"}], **FIELDS),
            r'recorded: 4 messages, asked: 5; message 5 is new: {"content":"\\u001b\[31m\*\*\*"}',
        ),
    ],
)
def test_the_first_difference_is_named(asked, said, recorded):
    """Parameters, tools and messages: the text around the difference, printable, short and without secrets."""
    told = missed(recorded, asked)

    assert told.startswith("refund, trial 1, role 'agent': request 1 is nearest to exchange 1 of it (")
    assert f"({recorded.cassette.name}:3)" in told
    assert re.search(said, told), told
    assert told.endswith("; --agentbench-cassette=record asks for what is missing and keeps it")
    assert len(told) < 400


def test_the_nearest_is_the_one_that_shares_most(tmp_path):
    """Of a long conversation the request that goes on alike is named, not the first one."""
    bench = Bench(tmp_path)
    bench.play(Mode.RECORD, counting(), run(), says=("a", "b", "c", "d"))
    recorder = bench.open(Mode.REPLAY)

    with pytest.raises(
        CassetteMissError, match=r"request 3 is nearest to exchange 3 of it .*: message 6 differs"
    ) as told:
        list(turns(recorder, run(), counting(), ["a", "b", "C"]))

    assert f"({bench.cassette.name}:4)" in str(told.value)
    assert "content 'c' was recorded, 'C' asked" in str(told.value)
    assert isinstance(told.value, ProviderError)


@pytest.mark.parametrize(
    ("caller", "said"),
    [
        (Caller(role="user", run=run()), "nothing is recorded for this role in .*, only for 'agent'"),
        (Caller(role="agent", run=run(trial=2)), "nothing is recorded for this run in .*, only for refund, trial 1;"),
        (
            Caller(role="agent", run=run("new")),
            "new, trial 1, role 'agent': nothing is recorded for this run in .*jsonl;",
        ),
        (Caller(role="critic"), "the session, role 'critic': nothing is recorded for this run"),
    ],
)
def test_a_run_without_recordings_is_told(caller, said, recorded):
    """Where nothing can be near, what else there is is named, and what to do."""
    assert re.search(said, missed(recorded, body([]), caller))


def test_a_cassette_that_is_not_there_is_told(tmp_path):
    """The path that was looked at is named."""
    told = missed(Bench(tmp_path), body([]))

    assert "agentbench.cassette.jsonl does not exist; --agentbench-cassette=record asks" in told
