"""Several processes, killed ones, and sessions that follow each other."""

import itertools
import os

import pytest

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.llm.cassette.merge import merge
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.protocols import Caller
from tests.forking import Worker
from tests.llm.cassette.talk import Bench, ask, body, counting, refusing, run, turns
from tests.llm.cassette.worker import play


def start(folder, process, mode, *scenarios, asks="live", dies=0):
    """Start a process that plays scenarios."""
    return Worker(play, folder, process, mode, scenarios, asks=asks, dies=dies)


def heard(*workers):
    """Give what processes heard, once they have ended."""
    together = {}
    for worker in workers:
        together |= worker.result() or {}
    return together


def test_processes_record_together_and_replay_apart(tmp_path):
    """What four processes recorded side by side is one file, and replays in one process, or divided otherwise."""
    names = [f"s{number}" for number in range(8)]
    live = heard(*(start(tmp_path, f"gw{n}", "record", *names[n::4]) for n in range(4)))
    bench = Bench(tmp_path)

    merged = bench.merge()
    replayed = heard(
        start(tmp_path, "gw0", "replay", *names[::-1][:3], asks="nothing"),
        start(tmp_path, "gw1", "replay", *names[::-1][3:], asks="nothing"),
    )

    assert (merged.recorded, merged.dropped, merged.written) == (24, 0, True)
    assert replayed == live
    assert len(set(itertools.chain.from_iterable(live.values()))) == 24
    assert not list(bench.shards.iterdir())


def test_a_killed_process_leaves_what_was_paid_for(tmp_path):
    """A process killed in its second run: the session that continues replays all it had, and asks for the rest only."""
    bench = Bench(tmp_path)
    killed = start(tmp_path, "gw0", "record", "done", "cut", dies=5)
    assert heard(killed) == {}
    with (bench.shards / "gw0.jsonl").open("ab") as shard:
        shard.write(b'{"play":2,"run":{"scenario":"cut"},"role":"age')

    continued = start(tmp_path, "gw0", "replay", "done", asks="nothing")
    assert heard(continued) == {}
    merged = bench.merge()
    after = heard(start(tmp_path, "gw1", "record", "cut", "fresh"))
    bench.merge()

    assert killed.status == 9
    assert merged.recorded == 5
    assert after["cut"] == ["gw0 said 4", "gw0 said 5", "gw1 said 1"]
    assert heard(start(tmp_path, "gw0", "replay", "done", "cut", "fresh", asks="nothing")) == {
        "done": ["gw0 said 1", "gw0 said 2", "gw0 said 3"],
        **after,
    }


def test_a_shard_is_continued_behind_what_a_killed_process_left(tmp_path):
    """A process that opens a torn shard loses nothing of before and nothing of its own."""
    bench = Bench(tmp_path)
    heard(start(tmp_path, "gw0", "record", "first", dies=2))
    with (bench.shards / "gw0.jsonl").open("ab") as shard:
        shard.write(b'{"play":1,"run"')

    heard(start(tmp_path, "gw0", "record", "second"))
    merged = bench.merge()

    assert merged.recorded == 5
    assert len(bench.lines) == 5


def test_a_run_that_another_process_took_over_is_the_one_recorded(tmp_path):
    """Where a worker died in a run and another played it again, the finished play counts, wherever it stands."""
    bench = Bench(tmp_path)
    heard(start(tmp_path, "gw5", "record", "s", dies=2))
    taken = heard(start(tmp_path, "gw0", "record", "s"))

    bench.merge()

    assert heard(start(tmp_path, "gw0", "replay", "s", asks="nothing")) == taken
    assert len(bench.lines) == 3


def test_merging_twice_changes_nothing(tmp_path):
    """Shards that a crash left behind after their merge do no harm, finished or not, used or new."""
    bench = Bench(tmp_path)
    bench.play(Mode.RECORD, counting("old"), run("a"), run("b"), run("c"))
    recorder = bench.open(Mode.RECORD)
    list(turns(recorder, run("a"), counting("new"), ["a", "B", "c"]))
    list(turns(recorder, run("b"), counting("more"), ["a", "B"]))
    judge = Caller(role="judge", run=run("c"))
    for _ in range(2):
        ask(recorder, judge, body([]), counting("equal"))
    recorder.finished(run("a"))
    shard = bench.shards / "main.jsonl"
    left = shard.read_bytes()
    bench.merge()
    before = bench.text
    shard.write_bytes(left)

    again = bench.merge()

    assert bench.text == before
    assert (again.recorded, again.dropped, again.written) == (0, 0, False)


def test_the_order_of_merging_makes_no_difference(tmp_path):
    """Shards merged at once, or one after the other in any order, give the same bytes."""
    texts = set()
    for number, order in enumerate(itertools.permutations(["gw0", "gw1", "gw2"])):
        bench = Bench(tmp_path / str(number))
        for process in ("gw0", "gw1", "gw2"):
            recorder = bench.open(Mode.RECORD, process)
            for scenario in ("x", "y"):
                key = run(f"{scenario}-{process}")
                list(turns(recorder, key, counting(process), ["a", "b"]))
                recorder.finished(key)
            recorder.close()
        for process in order if number else ():
            merge(bench.cassette, [bench.shards / f"{process}.jsonl"])
        bench.merge()
        texts.add(bench.text)

    assert len(texts) == 1


def test_two_sessions_that_end_at_once_both_leave_their_runs(tmp_path):
    """Merges of two processes into one file wait for each other."""
    benches = [Bench(tmp_path / str(number)) for number in range(4)]
    for number, bench in enumerate(benches):
        recorder = bench.open(Mode.RECORD)
        for scenario in range(20):
            list(turns(recorder, run(f"s{scenario}-{number}"), counting(), ["a"]))
        recorder.close()
    target = tmp_path / "shared.cassette.jsonl"
    mergers = [Worker(merge, target, [bench.shards / "main.jsonl"]) for bench in benches]
    for merger in mergers:
        merger.result()

    assert [merger.status for merger in mergers] == [0] * 4
    assert len(target.read_text().splitlines()) == 81
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [target.name]


def test_a_recording_that_another_session_took_away_leaves_the_run_as_it_is(tmp_path):
    """What a finished play used and the file no longer has cannot be written; what is there and what is new stays."""
    bench = Bench(tmp_path)
    bench.play(Mode.RECORD, counting("old"), run())
    recorder = bench.open(Mode.RECORD)
    list(turns(recorder, run(), counting("mine"), ["a", "B"]))
    recorder.finished(run())
    other = Bench(tmp_path)
    other.shards = tmp_path / "other"
    other.play(Mode.REFRESH, counting("theirs"), run())

    bench.merge()

    assert bench.play(Mode.REPLAY, refusing, run()) == [["theirs 1", "theirs 2", "theirs 3"]]
    assert "mine 1" in bench.text


def test_an_agent_that_asks_on_after_the_session_does_no_harm(tmp_path):
    """What comes after the shard was closed and merged is answered and not kept."""
    bench = Bench(tmp_path)
    recorder = bench.open(Mode.RECORD)
    talk = turns(recorder, run(), counting(), ["a", "b"])
    next(talk)
    bench.merge()

    assert next(talk) == "answer 2"
    assert len(bench.lines) == 1


def test_a_session_that_asked_nothing_makes_no_file(tmp_path):
    """Opening and closing a recorder leaves no cassette behind."""
    bench = Bench(tmp_path)
    bench.open(Mode.RECORD).finished(run())

    assert not bench.merge().written
    assert not bench.cassette.exists()


def test_a_cassette_that_cannot_be_read_keeps_the_shards(tmp_path):
    """A file damaged meanwhile is an error, and nothing that was paid for is lost."""
    bench = Bench(tmp_path)
    list(turns(bench.open(Mode.RECORD), run(), counting(), ["a"]))
    bench.cassette.write_text("<<<<<<<\n")

    with pytest.raises(SuiteError, match="is no cassette"):
        bench.merge()
    bench.cassette.unlink()

    assert bench.merge().recorded == 1


@pytest.mark.skipif(
    os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_folder_that_cannot_be_written_keeps_the_shards(tmp_path):
    """Where the suite's folder is read-only, the error leaves the shards for later."""
    bench = Bench(tmp_path / "suite")
    bench.shards = tmp_path / "shards"
    list(turns(bench.open(Mode.RECORD), run(), counting(), ["a"]))
    bench.cassette.parent.mkdir(mode=0o555)

    with pytest.raises(OSError, match="denied"):
        bench.merge()

    assert list(bench.shards.iterdir())


def test_the_last_session_decides_whatever_shards_are_called(tmp_path):
    """Of shards left behind, number 10 is later than number 2, and a session's number outweighs a worker's name."""
    for folder, earlier, later in (("a", "main-2", "main-10"), ("b", "gw2-0", "gw10-0"), ("c", "main-0", "gw0-1")):
        bench = Bench(tmp_path / folder)
        for name in (earlier, later):
            recorder = bench.open(Mode.REFRESH, name)
            recorder.started(run())
            list(turns(recorder, run(), counting(), [name]))
            recorder.finished(run())
            recorder.close()
        merge(bench.cassette, bench.shards.glob("*.jsonl"))

        assert later in "".join(bench.lines)
        assert earlier not in "".join(bench.lines)
