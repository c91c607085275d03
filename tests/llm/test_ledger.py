"""The ledger: reservations, budgets of session and run, several processes, death and continuation."""

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import BudgetSpentError, NotRunError, ResultsError
from pytest_agentbench.core.run import RunKey
from pytest_agentbench.llm.ledger import Ledger, reserve_when_free
from pytest_agentbench.llm.protocols import Caller
from tests.forking import Worker
from tests.tables import each

RUN = RunKey(suite="bench/agentbench.yaml", scenario="a")
OTHER = RunKey(suite="bench/agentbench.yaml", scenario="b")
SESSION = Caller(role="judge")


def user(run: RunKey = RUN) -> Caller:
    """The simulated user of a run."""
    return Caller(role="user", run=run)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A new ledger without budgets."""
    made = Ledger(tmp_path / "ledger.sqlite")
    made.start()
    yield made
    made.close()


def test_a_call_is_held_then_settled(ledger: Ledger) -> None:
    """The worst case is held while a call is in flight, and what it cost stays."""
    held = ledger.reserve(user(), 0.5)
    during = ledger.spent()
    ledger.settle(held, 0.125)

    assert (during.held_usd, during.in_flight, during.calls) == (0.5, 1, 0)
    assert ledger.spent() == ledger.spent(RUN)
    assert ledger.spent().model_dump() == {
        "cost_usd": 0.125, "calls": 1, "unpriced": 0, "held_usd": 0.0, "in_flight": 0, "refused": None,
    }  # fmt: skip


def test_a_call_never_answered_leaves_nothing(ledger: Ledger) -> None:
    """Released is as if never reserved; settling afterwards, or twice, changes nothing."""
    held = ledger.reserve(user(), 0.5)
    ledger.release(held)
    ledger.settle(held, 0.5)
    again = ledger.reserve(user(), 0.5)
    ledger.settle(again, 0.25)
    ledger.settle(again, 0.25)

    assert (ledger.spent().cost_usd, ledger.spent().calls, ledger.spent().held_usd) == (0.25, 1, 0.0)


def test_an_answer_without_a_price_is_charged_at_its_worst_case(ledger: Ledger) -> None:
    """The worst case stays as the price, and the call counts as unpriced."""
    ledger.settle(ledger.reserve(user(), 0.5), None)
    ledger.settle(ledger.reserve(user(), None), None)

    assert (ledger.spent().cost_usd, ledger.spent().calls, ledger.spent().unpriced) == (0.5, 2, 2)


def test_sums_of_money_are_exact(ledger: Ledger) -> None:
    """Ten times ten cents fill one dollar, and nothing more fits."""
    ledger.start(cost_usd=1.0)
    for _ in range(10):
        ledger.settle(ledger.reserve(user(), 0.1), 0.1)

    with pytest.raises(BudgetSpentError, match=r"budget of 1 USD .* 1 USD are spent"):
        ledger.reserve(user(), 0.000001)


def test_what_a_run_spends_is_its_own(ledger: Ledger) -> None:
    """A run's budget refuses that run alone, and says so."""
    ledger.begin(RUN, calls=1)
    ledger.begin(OTHER, cost_usd=0.25)
    ledger.settle(ledger.reserve(user(), 0.125), 0.125)

    with pytest.raises(BudgetSpentError, match="run's budget of 1 model call is spent") as by_calls:
        ledger.reserve(user(), 0.125)
    with pytest.raises(BudgetSpentError, match=r"run's budget of 0\.25 USD") as by_cost:
        ledger.reserve(user(OTHER), 0.5)
    ledger.settle(ledger.reserve(user(OTHER), 0.25), 0.25)

    assert [by_calls.value.scope, by_calls.value.later, by_cost.value.scope] == ["run", False, "run"]
    assert ledger.spent().refused is None
    assert ledger.spent(OTHER).calls == 1


def test_a_refusal_of_the_session_holds_for_everybody(tmp_path: Path, ledger: Ledger) -> None:
    """Once a call did not fit, none does, also none that would; other processes see why."""
    ledger.start(cost_usd=1.0)
    ledger.settle(ledger.reserve(user(), 0.5), 0.5)
    other = Ledger(tmp_path / "ledger.sqlite", process="gw1")

    with pytest.raises(BudgetSpentError) as refused:
        ledger.reserve(user(), 0.75)
    with pytest.raises(BudgetSpentError) as small:
        other.reserve(user(OTHER), 0.001)

    assert (refused.value.scope, small.value.scope) == ("session", "session")
    assert other.spent().refused == str(refused.value) == str(small.value)
    other.close()


@pytest.mark.parametrize("caller", [user(), SESSION], ids=["run", "session"])
def test_calls_count_while_in_flight(ledger: Ledger, caller: Caller) -> None:
    """A budget of calls holds what is in flight, which closes nothing: a call may come back."""
    ledger.start(calls=1)
    held = ledger.reserve(caller, None)

    with pytest.raises(BudgetSpentError) as refused:
        ledger.reserve(caller, None)
    ledger.release(held)
    ledger.settle(ledger.reserve(caller, None), None)
    with pytest.raises(BudgetSpentError) as spent:
        ledger.reserve(caller, None)

    assert (refused.value.later, refused.value.scope) == (True, "session")
    assert (spent.value.later, spent.value.scope) == (False, "session")


def test_money_alone_does_not_bound_a_call_without_a_price(ledger: Ledger) -> None:
    """It is refused for what it is, unless a budget of calls bounds it."""
    ledger.start(cost_usd=1.0)
    ledger.begin(OTHER, calls=5)

    with pytest.raises(NotRunError, match="price is unknown") as refused:
        ledger.reserve(user(), None)

    assert not isinstance(refused.value, BudgetSpentError)
    assert ledger.reserve(user(OTHER), None).cost_usd is None


def test_a_waiting_call_takes_what_is_given_back(ledger: Ledger) -> None:
    """What only calls in flight hold is waited for; what is spent is not."""
    ledger.start(cost_usd=1.0)
    held = ledger.reserve(user(), 0.75)
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            ledger.settle(held, 0.25)

    taken = asyncio.run(reserve_when_free(ledger, user(OTHER), 0.75, sleep=sleep))
    ledger.settle(taken, 0.75)
    with pytest.raises(BudgetSpentError):
        asyncio.run(reserve_when_free(ledger, user(OTHER), 0.001, sleep=sleep))

    assert len(pauses) == 3
    assert pauses == sorted(pauses)


def test_a_run_begun_again_starts_from_nothing(ledger: Ledger) -> None:
    """A run played again has its whole budget; the session remembers both."""
    ledger.begin(RUN, calls=1)
    ledger.settle(ledger.reserve(user(), 0.1), 0.1)
    ledger.begin(RUN, calls=1)
    ledger.settle(ledger.reserve(user(), 0.1), 0.1)

    assert ledger.spent(RUN).calls == 1
    assert ledger.spent().calls == 2


def test_what_a_lost_process_had_in_flight_is_charged(tmp_path: Path, ledger: Ledger) -> None:
    """`forget` charges a worker's calls at their worst case, and nobody else's."""
    worker = Ledger(tmp_path / "ledger.sqlite", process="gw0")
    lost = worker.reserve(user(), 0.5)
    ledger.reserve(user(OTHER), 0.25)

    ledger.forget("gw0")
    worker.settle(lost, 0.1)

    spent = ledger.spent()
    assert (spent.cost_usd, spent.calls, spent.unpriced) == (0.5, 1, 1)
    assert (spent.held_usd, spent.in_flight) == (0.25, 1)
    worker.close()


_HOLDER = """
import os, sys
from pathlib import Path
from pytest_agentbench.llm.protocols import Caller
from pytest_agentbench.llm.ledger import Ledger
Ledger(Path(sys.argv[1]), process="gw0").reserve(Caller(role="user"), 0.75)
os._exit(9)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be asked there whether it lives")
def test_nobody_waits_for_a_process_that_died(tmp_path: Path, ledger: Ledger) -> None:
    """The calls of a process that was killed are charged as soon as they are in somebody's way."""
    ledger.start(cost_usd=1.0)
    subprocess.run([sys.executable, "-c", _HOLDER, str(tmp_path / "ledger.sqlite")], check=False)
    assert ledger.spent().held_usd == 0.75

    async def sleep(_: float) -> None:
        return None

    with pytest.raises(BudgetSpentError) as refused:
        asyncio.run(reserve_when_free(ledger, user(), 0.5, sleep=sleep))

    assert not refused.value.later
    assert (ledger.spent().cost_usd, ledger.spent().in_flight) == (0.75, 0)


def test_a_continued_session_remembers(tmp_path: Path) -> None:
    """What was spent counts, what was in flight is charged, and a larger budget goes on."""
    first = Ledger(tmp_path / "ledger.sqlite")
    first.start(cost_usd=1.0)
    first.settle(first.reserve(user(), 0.5), 0.5)
    first.reserve(user(), 0.25)
    with pytest.raises(BudgetSpentError):
        first.reserve(user(), 0.75)
    first.close()

    again = Ledger(tmp_path / "ledger.sqlite")
    again.start(cost_usd=2.0)

    assert (again.spent().cost_usd, again.spent().refused) == (0.75, None)
    assert again.reserve(user(), 1.25).cost_usd == 1.25
    again.close()


def spend(file: Path, process: str) -> int:
    """Make calls until the budget is spent; give how many there were."""
    ledger = Ledger(file, process=process)
    caller = user(RunKey(suite="s", scenario=process))
    made = 0
    while True:
        try:
            held = ledger.reserve(caller, 0.003)
        except BudgetSpentError as refused:
            if refused.later:
                continue
            return made
        ledger.settle(held, 0.001)
        made += 1


def test_four_processes_spend_exactly_the_budget(tmp_path: Path, ledger: Ledger) -> None:
    """Four processes at once make exactly the calls that the budget holds, and every one is accounted for."""
    ledger.start(cost_usd=1.202)
    workers = [Worker(spend, tmp_path / "ledger.sqlite", f"gw{number}") for number in range(4)]
    made = [worker.result() for worker in workers]

    spent = ledger.spent()
    assert sum(made) == spent.calls == 1200
    assert (spent.cost_usd, spent.held_usd, spent.in_flight) == (1.2, 0.0, 0)
    runs = [ledger.spent(RunKey(suite="s", scenario=f"gw{number}")).calls for number in range(4)]
    assert runs == made


@pytest.mark.parametrize(("index", "calls"), [(0, 4), (1, 3), (2, 3)])
def begin(ledger: Ledger) -> object:
    """Write by starting a run."""
    return ledger.begin(RUN)


def reserve(ledger: Ledger) -> object:
    """Write by reserving."""
    return ledger.reserve(user(), 0.1)


@pytest.mark.parametrize("write", [begin, reserve])
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, ledger: Ledger, write: Callable[[Ledger], object]) -> None:
    """What is no ledger, and one that is closed, give an error that names the file."""
    (tmp_path / "other").write_bytes(b"this is no database, and long enough to tell" * 50)

    with pytest.raises(ResultsError, match="other, cannot be used"):
        Ledger(tmp_path / "other")
    ledger.close()
    with pytest.raises(ResultsError, match=r"ledger\.sqlite, cannot be used"):
        write(ledger)


@each("cost", [float("inf"), float("nan"), 1e10])
def test_sums_that_no_ledger_holds_are_refused(cost: float) -> None:
    """The message shows the sum and what is allowed."""
    with pytest.raises(ValueError, match="9 billion"):
        Ledger(None).start(cost_usd=cost)


def test_a_ledger_that_another_process_holds_is_named(tmp_path: Path) -> None:
    """All runs of a process wait meanwhile, so it is not for long."""
    ledger = Ledger(tmp_path / "ledger.sqlite", patience=0.01)
    other = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with contextlib.closing(other), contextlib.closing(ledger), pytest.raises(ResultsError, match="another process"):
        ledger.reserve(Caller(role="user"), 1.0)
