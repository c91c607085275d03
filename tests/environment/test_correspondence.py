"""Which ids and times of a run are which of its replay, and what is a real difference."""

import json
from typing import Any

from pytest_agentbench.core.tool import ToolCall, ToolResult
from pytest_agentbench.core.transcript import CallRecord
from pytest_agentbench.environment.correspondence import Correspondence
from pytest_agentbench.environment.fresh_values import Clock
from tests.tables import each

START = {"orders": {"W1": {"status": "pending", "total": 12.5}, "W2": {"status": "sent", "note": "see REF-1"}}}


def made(name: str, answer: object, *, error: bool = False, **arguments: Any) -> CallRecord:
    """A call with what it gave; anything but a text is answered as JSON."""
    content = answer if isinstance(answer, str) else json.dumps(answer)
    call = ToolCall(name=name, arguments=arguments)
    return CallRecord(call=call, result=ToolResult(content=content, error=error), message=0, turn=1)


def follow(known: Correspondence, place: int, record: CallRecord) -> str | None:
    """Follow the call at `place`, of which the replay made `record`."""
    assert record.result is not None
    return known.follow(place, record.call, record.result)


def compared(run: object, replay: object, **options: Any) -> str | None:
    """Compare what one call answered in both worlds."""
    return follow(Correspondence([made("t", run)], START, **options), 0, made("t", replay))


@each(
    ("run", "replay"),
    [
        ({"id": "REF-77", "total": 1}, {"id": "REF-12", "total": 1.0}),
        ("Refund REF-9 is on its way.", "Refund REF-10 is on its way."),
        ({"id": 1042}, {"id": 1043}),
        ({"order_id": "1042"}, {"order_id": "1043"}),
        ({"token": "5f2b6c1e-9a0d-4f7e-8f11-0242ac120002"}, {"token": "00aa6c1e-1a2d-4f7e-8f11-0242ac12ffff"}),
        ({"at": "2026-11-22T10:00:03.123456+00:00"}, {"at": "2026-11-22T10:07:41+00:00"}),
        ({"at": 1763833141.5}, {"at": 1763833999.25}),
        ({"tickets": {"T-1a2b3c": {"open": True}}}, {"tickets": {"T-9f8e7d": {"open": True}}}),
        ("done at 10:00:03", "done at 10:00:09"),
        ({"stay": "ST-ddbddf"}, {"stay": "ST-33101a"}),
        ({"stay_id": "KQZXWJ"}, {"stay_id": "3K9Q2M"}),
    ],
)
def test_ids_and_times_that_came_up_at_the_same_place_correspond(run: object, replay: object) -> None:
    """Equal calls on two worlds differ in what the worlds make up."""
    assert compared(run, replay) is None


@each(
    ("run", "replay", "told"),
    [
        ({"status": "done"}, {"status": "open"}, "status: 'done' in the run, 'open' when replayed"),
        ({"status": "on-hold"}, {"status": "on-road"}, "status: 'on-hold' in the run, 'on-road' when replayed"),
        ({"total": 12.5}, {"total": 13.5}, "total: 12.5 in the run"),
        ({"stock": 4}, {"stock": 3}, "stock: 4 in the run"),
        ("Refunded 12.50 to card 3", "Refunded 13.50 to card 3", "12.50"),
        ({"id": "REF-77"}, {"id": "W1"}, "id"),
        ({"id": "REF-1"}, {"id": "REF-2"}, "id"),  # the state at the start holds REF-1
        ({"id": "REF-77", "by": None}, {"id": "REF-77"}, "the keys"),
        ([1, 2], [1], "2 items in the run, 1 when replayed"),
        ({"ok": True}, {"ok": 1}, "ok"),
        ("all done", "not all done", "all done"),
    ],
)
def test_other_differences_are_real(run: object, replay: object, told: str) -> None:
    """The first one is told with both sides."""
    assert told in (compared(run, replay) or "")


def test_a_tool_that_fails_in_one_world_only_is_a_real_difference() -> None:
    """An error text may be equal to an answer."""
    known = Correspondence([made("t", "no", error=True)], START)
    assert follow(known, 0, made("t", "no")) == "the tool failed in the run and succeeded when replayed"


def test_later_arguments_and_texts_are_renamed_both_ways() -> None:
    """What one call made is what a later one is about, also inside a text and as a key."""
    known = Correspondence([made("open", "Opened T-77"), made("close", "ok", ticket="T-77")], START)
    assert follow(known, 0, made("open", "Opened T-12")) is None
    assert known.in_replay({"ticket": "T-77", "note": "as T-77 says", "amount": 77}) == {
        "ticket": "T-12", "note": "as T-12 says", "amount": 77,
    }  # fmt: skip
    assert known.ids_in_run({"tickets": {"T-12": {"id": "T-12"}}}) == {"tickets": {"T-77": {"id": "T-77"}}}


def test_two_things_do_not_fall_together() -> None:
    """T-1 of the replay is a ticket that the run never opened, and its T-2 is T-1 of the run."""
    known = Correspondence([made("open", {"id": "T-1"}, title="b")], START)
    known.hear(ToolCall(name="open", arguments={"title": "a"}), ToolResult(content='{"id": "T-1"}'))
    assert follow(known, 0, made("open", {"id": "T-2"}, title="b")) is None
    assert known.ids_in_run({"T-1": "a", "T-2": "b"}) == {"T-1 of a fresh world": "a", "T-1": "b"}


def test_numbers_are_renamed_where_an_id_stands_only() -> None:
    """Ticket 7 is ticket 9 of the replay; seven pieces stay seven."""
    known = Correspondence([made("open", {"ticket_id": 7})], START)
    assert follow(known, 0, made("open", {"ticket_id": 9})) is None
    assert known.in_replay({"ticket_id": 7, "pieces": 7}) == {"ticket_id": 9, "pieces": 7}


def test_calls_may_be_made_again_in_another_order() -> None:
    """Counted ids change places: each world counts for itself."""
    run = [made("open", {"id": "T-1"}, title="a"), made("open", {"id": "T-2"}, title="b")]
    known = Correspondence(run, START)
    assert follow(known, 1, made("open", {"id": "T-1"}, title="b")) is None
    assert follow(known, 0, made("open", {"id": "T-2"}, title="a")) is None
    assert known.in_replay(["T-1", "T-2"]) == ["T-2", "T-1"]


def test_one_thing_is_no_two_things() -> None:
    """What was T-12 in the replay cannot be another ticket later on."""
    run = [made("open", {"id": "T-77"}), made("open", {"id": "T-78"})]
    known = Correspondence(run, START)
    assert follow(known, 0, made("open", {"id": "T-12"})) is None
    assert follow(known, 1, made("open", {"id": "T-12"})) is not None


def test_a_value_that_a_party_gave_is_no_value_of_the_world() -> None:
    """The agent's own reference is data, and so is one that the replay was asked with."""
    known = Correspondence([made("book", {"id": "B-77"}, reference="B-77")], START)
    assert follow(known, 0, made("book", {"id": "B-12"}, reference="B-77")) is not None


def test_what_is_known_to_differ_may_not_be_equal_later() -> None:
    """T-77 of the run is T-12 of the replay, so that T-77 in both is two tickets."""
    run = [made("open", {"id": "T-77"}), made("look", {"next": "T-77"})]
    known = Correspondence(run, START)
    assert follow(known, 0, made("open", {"id": "T-12"})) is None
    assert follow(known, 1, made("look", {"next": "T-77"})) is not None


def test_with_a_clock_times_correspond_that_lie_as_far_apart_as_the_worlds() -> None:
    """A week more is no matter of the clock."""
    clock = Clock(run=(1_763_805_600.0, 1_763_805_610.0), replay=(1_763_805_620.0, 1_763_805_621.0))
    assert compared({"at": "2025-11-22T10:00:03"}, {"at": "2025-11-22T10:00:21"}, clock=clock) is None
    assert compared({"due": "2025-12-22T10:00:03"}, {"due": "2025-12-22T10:00:21"}, clock=clock) is None
    assert compared({"due": "2025-11-29T10:00:03"}, {"due": "2025-12-06T10:00:21"}, clock=clock) is not None
    assert compared({"due": "2025-11-29"}, {"due": "2025-11-30"}, clock=clock) is not None


def test_what_the_replay_cannot_know_yet_is_told() -> None:
    """An id that no answer made again has named: nothing corresponds to it so far."""
    known = Correspondence([made("open", "ok"), made("look", {"id": "T-77"}), made("close", "ok", id="T-77")], START)
    assert follow(known, 0, made("open", "ok")) is None
    assert known.unmapped({"id": "T-77", "order": "W1"}) == ("T-77",)
