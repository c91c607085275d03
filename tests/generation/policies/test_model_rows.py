"""Rows that a model fills in: keys and words are its own, what decides stays, nobody of the base rows comes back."""

import json
from random import Random

import pytest

from pytest_agentbench.environment.toolset import load_toolset
from pytest_agentbench.generation.policies.events.rows import FreshRows, ModelRows, RowMaker, RowsError
from pytest_agentbench.generation.policies.source import planner_of
from pytest_agentbench.suites.suite_file import load_suite
from tests.generation.policies.airline import airline
from tests.users.llm.chat import PlayedChat


async def planned(folder) -> tuple[RowMaker, FreshRows]:
    """Give the rows of one member and a booking as they are without a model."""
    suite = load_suite(airline(folder), environ={}, generating=True)
    samples = (await planner_of(suite, load_toolset(suite.environment, suite.root))).runs.samples
    maker = RowMaker(samples=samples)
    root = ("members", 0)
    return maker, maker.make(samples.cluster(root, samples.focuses(root, "bookings")[0]), Random(1))


def answer(rows: FreshRows, **changes) -> str:
    """Say each row as it is, with changes by symbol."""
    written = [
        {"symbol": row.symbol, "table": row.table, "values": json.dumps({**row.values, **changes.get(row.symbol, {})})}
        for row in rows.values()
    ]
    return json.dumps({"rows": written})


async def filled(maker: RowMaker, rows: FreshRows, *answers: str) -> FreshRows:
    """Have a model with these answers fill the rows in."""
    chat = PlayedChat(*answers)
    return await ModelRows(chat, maker.samples, maker.checker)(rows, Random(1))


async def test_keys_and_words_of_a_model_are_carried_to_every_row(tmp_path):
    """A new key of the member stands in the rows that refer to it."""
    maker, rows = await planned(tmp_path)
    tied = {row.symbol: {"member_id": "M-999"} for row in rows.values() if "member_id" in row.values}

    found = await filled(maker, rows, answer(rows, **{**tied, "M1": {"member_id": "M-999", "full_name": "Uwe Roth"}}))

    by_symbol = {row.symbol: row.values for row in found.values()}
    assert by_symbol["M1"]["full_name"] == "Uwe Roth"
    assert {row["member_id"] for row in by_symbol.values() if "member_id" in row} == {"M-999"}


@pytest.mark.parametrize(
    ("symbol", "change", "said"),
    [
        ("M1", {"full_name": "Tom Weiss"}, "is somebody of members already"),
        ("M1", {"email": "tom.weiss@mail.example"}, "stands in another row already"),
        ("M1", {"full_name": "tom  Weiss "}, "is somebody of members already"),
        ("M1", {"full_name": "Uwe \x1b[31mRoth"}, "characters that can be read"),
        ("M1", {"full_name": "Uwe " * 25_000}, "200 characters at most"),
        ("M1", {"full_name": {"first": "Uwe"}}, "must be a text"),
        ("M1", {"full_name": " "}, "must be filled"),
        ("M1", {"full_name": float("nan")}, "values must be a JSON object"),
    ],
)
async def test_who_is_there_already_and_what_cannot_be_read_is_refused(tmp_path, symbol, change, said):
    """Refused twice with the reason, the rows are given up."""
    maker, rows = await planned(tmp_path)
    wrong = answer(rows, **{symbol: change})

    with pytest.raises(RowsError, match=said):
        await filled(maker, rows, wrong, wrong)


@pytest.mark.parametrize("change", [{"state": "void"}, {"fare": 1.0}, {"member_id": "M-201"}, {"colour": "red"}])
async def test_what_decides_is_no_choice_of_a_model(tmp_path, change):
    """States, amounts, references and columns that there are not stay what they are, whatever is written."""
    maker, rows = await planned(tmp_path)

    found = await filled(maker, rows, answer(rows, M1={"full_name": "Uwe Roth"}, B1=change))

    before, after = ([row.values for row in one.values() if row.symbol == "B1"] for one in (rows, found))
    assert after == before


async def test_a_mended_answer_is_taken(tmp_path):
    """The second answer counts where the first was at fault."""
    maker, rows = await planned(tmp_path)

    found = await filled(
        maker, rows, answer(rows, M1={"full_name": "Tom Weiss"}), answer(rows, M1={"full_name": "Uwe Roth"})
    )

    assert next(row for row in found.values() if row.symbol == "M1").values["full_name"] == "Uwe Roth"
