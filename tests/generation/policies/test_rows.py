"""Fresh rows: of any state, in bounded time, or a reason why not."""

from random import Random

from pytest_agentbench.generation.policies.events.rows import RowMaker
from pytest_agentbench.generation.policies.events.samples import Samples
from pytest_agentbench.generation.policies.events.schema import inferred_schema, rows_of


def made(users: list[dict], seed: int = 1) -> dict:
    """Give the fresh row of the first user, who has an order."""
    orders = [{"id": f"O-{at}", "user_id": row["id"]} for at, row in enumerate(users[:3], 70_001)]
    state = {"users": users, "orders": orders}
    samples = Samples(schema=inferred_schema(state), rows=rows_of(state, with_keys=True))
    rows = RowMaker(samples=samples).make(samples.cluster(("users", 0)), Random(seed))
    return next(row.values for row in rows.values() if row.table == "users")


def test_an_address_is_found_where_all_short_numbers_are_taken():
    """Without names the numbers of addresses grow until one is free."""
    users = [{"id": f"U{at}", "email": f"user{at}@example.com"} for at in range(1, 12_000)]

    email = made(users)["email"]

    assert email.startswith("user")
    assert email not in {row["email"] for row in users}


def test_a_row_without_a_name_gets_none():
    """Where no row of a table has a name, the fresh one has what the others have."""
    users = [{"id": "U10", "name": "", "email": "a@x.com"}, {"id": "U11", "name": None, "email": "b@x.com"}]

    assert made(users)["name"] == ""


def test_a_blank_part_of_a_name_is_not_drawn():
    """A part that only spaces stand in is no part of a name."""
    users = [
        {"id": "U10", "first_name": "Ann", "last_name": " ", "email": "a@x.com"},
        {"id": "U11", "first_name": "Bo", "last_name": "Ray", "email": "b@x.com"},
    ]

    drawn = [made(users, seed) for seed in range(8)]

    assert {row["last_name"] for row in drawn} == {"Ray"}


def test_names_of_another_script_leave_the_address_what_it_was():
    """An address of letters that none can have in it is made of the old one."""
    users = [
        {"id": "U10", "first_name": "太郎", "last_name": "山田", "email": "taro@y.jp"},
        {"id": "U11", "first_name": "Олег", "last_name": "Иванов", "email": "oleg@y.jp"},
    ]

    assert {made(users, seed)["email"].rstrip("@y.jp0123456789") for seed in range(6)} == {"taro"}
