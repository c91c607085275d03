"""The state that expected calls lead to."""

from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.core.scenario import ExpectedCall
from pytest_agentbench.core.suite import EnvironmentSpec
from pytest_agentbench.environment.call_replay import Replay, Wanted, replay
from pytest_agentbench.environment.diff import diff
from tests.environment.support import environment, shop


def expected(name: str, **arguments: Any) -> ExpectedCall:
    """Give an expected call."""
    return ExpectedCall(name=name, arguments=arguments)


async def replayed(suite: tuple[EnvironmentSpec, Path], calls: list[ExpectedCall], **options: Any) -> Replay:
    """Make expected calls on a fresh environment."""
    return await replay(lambda: environment(suite, **options), [Wanted(call) for call in calls])


async def test_expected_calls_are_made_on_a_fresh_environment(tmp_path: Path) -> None:
    """The state holds what they wrote, and the scenario's own part."""
    suite = shop(tmp_path)
    calls = [expected("get_order", order_id="W1"), expected("cancel_order", order_id="W1")]

    found = await replayed(suite, calls, state={"users": {"U1": {"name": "Zoe"}}})

    assert found.failed == {}
    async with environment(suite) as fresh:
        before = await fresh.snapshot()
    assert found.state is not None
    assert before is not None
    assert [difference.path for difference in diff(before, found.state)] == [
        ("orders", "W1", "status"), ("users", "U1", "name"),
    ]  # fmt: skip


async def test_calls_that_fail_are_problems_of_the_scenario(tmp_path: Path) -> None:
    """Each is named with the tool's own words; the state is that of the others."""
    calls = [expected("get_order", order_id="W9"), expected("cancel_order", order_id="W1", why="late")]

    found = await replayed(shop(tmp_path), calls)

    assert found.state is not None
    assert list(found.failed) == [0, 1]
    assert "no order 'W9'" in found.failed[0]


async def test_a_tool_that_cannot_be_called_leaves_the_state_unknown(tmp_path: Path) -> None:
    """A tool that the environment lacks is the agent's own: where its calls lead is not known here."""
    assert (await replayed(shop(tmp_path), [expected("fly")])).state is None


@pytest.mark.parametrize(
    ("call", "readable"),
    [
        (expected("get_order", order_id={"$regex": "W.*"}), True),
        (expected("cancel_order", order_id={"$any": True}), False),
        (expected("cancel_order", order_id=[{"deep": {"$approx": 1}}]), False),
        (expected("cancel_order"), False),
        (expected("get_order"), True),
    ],
)
async def test_what_nothing_tells_leaves_out_a_read_and_make_a_write_unknowable(
    tmp_path: Path, call: ExpectedCall, readable: bool
) -> None:
    """No value can be made up for a matcher, nor for an argument that has to be given."""
    found = await replayed(shop(tmp_path), [call])

    assert (found.state is not None, found.failed) == (readable, {})


async def test_without_state_there_is_nothing_to_expect(tmp_path: Path) -> None:
    """Environments whose state cannot be read give None and make no call."""
    suite = (EnvironmentSpec(), tmp_path)

    found = await replayed(suite, [expected("fly")])
    assert (found.state, found.failed) == (None, {})
