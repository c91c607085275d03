"""Roles played by a model, well and badly: rows are consistent, or the set is refused with a reason."""

import json

import pytest

from pytest_agentbench.core.model import ModelSpec
from pytest_agentbench.core.suite import GenerateSpec
from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.policies.events.events import RejectedEventError
from pytest_agentbench.generation.policies.pipeline import run as run_recipe
from pytest_agentbench.generation.policies.roles import Roles
from pytest_agentbench.generation.policies.values import PolicySet
from pytest_agentbench.llm.reply import ChatReply
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.policies.airline import airline
from tests.generation.policies.kit import database_faults, maker_for
from tests.users.llm.chat import PlayedChat

SET = PolicySet(id="c5-001", first="open-only", policies=("open-only", "own-card"), requested=5, realised=5)


class Writer(PlayedChat):
    """Answers from what it is asked, by a function of the material."""

    def __init__(self, answer):
        super().__init__()
        self._answer = answer

    async def complete(self, messages, **options):
        """Give the function's answer to the material of the first message."""
        self.asked.append([dict(message) for message in messages])
        lines = [line.removeprefix("| ") for line in messages[1]["content"].splitlines()[1:-1]]
        return ChatReply(content=self._answer(lines, len(self.asked)))


def rows_of(lines, *, change=lambda rows: rows):
    """Fill the open columns with other values of the same form, as a good writer does, then spoil them by `change`."""
    planned = [json.loads(line) for line in lines]
    keys = {}
    for one in planned:
        table_key = next((name for name in (*one["open"], *one["keep"]) if name.endswith("_id")), "")
        one["values"] = {**one["keep"], **{name: f"{value}x9" for name, value in one["open"].items()}}
        keys[one["symbol"]] = one["values"].get(table_key)
    for one in planned:
        one["values"] |= {column: keys[symbol] for column, symbol in one["refers"].items()}
    rows = change([{"symbol": one["symbol"], "table": one["table"], "values": one["values"]} for one in planned])
    return json.dumps({"rows": [{**row, "values": json.dumps(row["values"])} for row in rows]})


async def made(tmp_path, role, chat):
    """Make one event with a model in a role."""
    maker = await maker_for(airline(tmp_path), seed=1)
    recipe = GenerateSpec(source="policies", model=ModelSpec(model="played"), roles=(role,))
    maker.writers = Roles(recipe, lambda _: chat)
    return maker, await maker.make(SET)


async def test_a_good_writer_fills_rows_that_calls_then_find(tmp_path):
    """One call an event; the values of the model are in the rows and in the expected calls."""
    chat = Writer(lambda lines, _: rows_of(lines))

    maker, event = await made(tmp_path, "rower", chat)

    assert len(chat.asked) == 1
    assert database_faults(event, maker, tmp_path / "schema.sql", tmp_path / "rows.yaml") == []
    assert any(str(value).endswith("x9") for call in event.expected for value in call.arguments.values())


def _without_a_column(rows):
    rows[-1]["values"].popitem()
    return rows


def _in_another_table(rows):
    return [{**rows[0], "table": "cards"}, *rows[1:]]


def _with_an_invented_reference(rows):
    for row in rows:
        for name in row["values"]:
            if name == "member_id" and row["table"] != "members":
                row["values"][name] = "M-000"
    return rows


def _with_another_state(rows):
    for row in rows:
        if "state" in row["values"]:
            row["values"]["state"] = "lost"
    return rows


def _with_a_taken_key(rows):
    for row in rows:
        if row["table"] == "members":
            row["values"]["email"] = "ines.duarte@mail.example"
    return rows


BAD = [_without_a_column, _in_another_table, _with_an_invented_reference, _with_another_state, _with_a_taken_key]


@pytest.mark.parametrize("change", [*BAD, lambda rows: rows[1:], lambda rows: [rows[0], *rows]])
async def test_bad_rows_are_told_and_refused_twice_with_their_reason(tmp_path, change):
    """Missing keys, wrong tables, invented ids, violated references, states and keys: never an event."""
    chat = Writer(lambda lines, _: rows_of(lines, change=change))

    with pytest.raises(RejectedEventError) as refused:
        await made(tmp_path, "rower", chat)

    assert refused.value.rejection.stage == "rows"
    assert "refused twice" in refused.value.rejection.detail
    assert "not accepted" in chat.asked[1][-1]["content"]


@pytest.mark.parametrize("change", BAD)
async def test_rows_that_are_put_right_when_told_become_an_event(tmp_path, change):
    """The fault is fed back once, and the better answer is taken."""
    chat = Writer(lambda lines, call: rows_of(lines, change=change if call == 1 else lambda rows: rows))

    maker, event = await made(tmp_path, "rower", chat)

    assert len(chat.asked) == 2
    assert database_faults(event, maker, tmp_path / "schema.sql", tmp_path / "rows.yaml") == []


def user_of(lines, **changes):
    """Word the wishes of the material as they stand."""
    wishes = json.loads("\n".join(lines))["wishes"]
    return json.dumps(
        {"persona": "Calm.", "goal": "Get it done.", "says": [f"Well: {one}" for one in wishes], **changes}
    )


async def test_a_narrator_words_the_user_and_nothing_else(tmp_path):
    """Lines are the model's, the calls stay the oracle's, and it never sees what a right answer would be."""
    chat = Writer(lambda lines, _: user_of(lines))

    _, event = await made(tmp_path, "narrator", chat)

    assert event.says[0].startswith("Well: ")
    assert event.expected_behaviour not in str(chat.asked)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"says": []}, "one message for each"),
        ({"goal": "Void booking ZZ99XX."}, "is invented"),
        ({"goal": "Void a booking or move its payment only while it is open."}, "the user is told of open-only"),
        ({"goal": "Call void_booking now."}, "the user is told of the tool"),
    ],
)
async def test_a_bad_narrator_is_refused_with_its_reason(tmp_path, changes, said):
    """Lost wishes, invented ids, and anything of policies and tools."""
    chat = Writer(lambda lines, _: user_of(lines, **changes))

    with pytest.raises(RejectedEventError) as refused:
        await made(tmp_path, "narrator", chat)

    assert refused.value.rejection.stage == "story"
    assert said in refused.value.rejection.detail


@pytest.mark.parametrize("role", ["rower", "narrator"])
async def test_a_recipe_whose_model_is_bad_half_the_time_writes_right_scenarios_alone(tmp_path, role):
    """What is refused is counted with its stage; whatever is written is consistent and valid."""
    file = airline(tmp_path, count=4, extra=f", llm: {{model: played}}, roles: [{role}]")
    suite = load_suite(file, environ={}, generating=True)

    def answer(lines, call):
        if role == "narrator":
            return user_of(lines, **({} if call % 3 else {"goal": "Void booking ZZ99XX."}))
        return rows_of(lines, change=BAD[call % len(BAD)] if call % 3 == 0 else lambda rows: rows)

    toolset = load_toolset(suite.environment, suite.root)
    outcome = await run_recipe(suite, toolset, chats=lambda _: Writer(answer))

    scenarios = load_suite(file, environ={}).scenarios
    assert outcome.accepted == len(scenarios) == 4
    assert all(one.expected_calls for one in scenarios)
    assert all("ZZ99XX" not in one.title for one in scenarios)
