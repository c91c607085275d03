"""What was recorded is given again to the run that recorded it, under any order and concurrency."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.errors import CassetteMissError
from pytest_agentbench.llm.cassette.modes import Mode
from pytest_agentbench.llm.protocols import Caller, Recorder
from tests.llm.cassette.talk import Bench, body, completion, counting, refusing, run, said, turns

RUNS = [run("refund"), run("refund", trial=2), run("refund", attempt=2), run("refund", variant="careful"), run("other")]
ROLES = ["agent", "user"]


def interleaved(recorder, model, order, says):
    """Step through the conversations of all runs and roles in the order given, then to their ends."""
    talks = {(place, role): turns(recorder, key, model, says, role) for place, key in enumerate(RUNS) for role in ROLES}
    heard = {name: [] for name in talks}
    for name in [*order, *sorted(talks) * len(says)]:
        heard[name].extend([text] if (text := next(talks[name], None)) else [])
    for key in RUNS:
        recorder.finished(key)
    return heard


orders = st.lists(st.tuples(st.integers(0, len(RUNS) - 1), st.sampled_from(ROLES)), max_size=30)


@settings(max_examples=40)
@given(orders, orders)
def test_replays_in_any_order(recording, replaying):
    """Conversations that begin alike and go on alike hear their own answers again, however they take turns."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        says = ["hi", "hi", "go on"]
        first = interleaved(bench.open(Mode.RECORD), counting(), recording, says)
        bench.merge()

        again = interleaved(bench.open(Mode.REPLAY), refusing, replaying, says)

        assert again == first


@settings(max_examples=20)
@given(orders)
def test_the_order_of_a_replay_leaves_no_trace(replaying):
    """Recording mode that finds everything recorded writes the same bytes, or rather none."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        interleaved(bench.open(Mode.RECORD), counting(), [], ["hi", "hi"])
        bench.merge()
        before = bench.text

        interleaved(bench.open(Mode.RECORD), refusing, replaying, ["hi", "hi"])
        merged = bench.merge()

        assert bench.text == before
        assert not merged.written


def test_it_is_a_recorder(tmp_path):
    """The recorder fits the seam."""
    recorder: Recorder = Bench(tmp_path).open(Mode.REPLAY)

    assert isinstance(recorder.find, object)


def test_equal_requests_of_one_run_replay_in_order(tmp_path):
    """A judge asked the same three times gives its three answers in the order in which it gave them."""
    bench = Bench(tmp_path)
    judge = Caller(role="judge", run=run())
    question = body([{"role": "user", "content": "good?"}])
    recorder = bench.open(Mode.RECORD)
    for text in ("yes", "no", "yes"):
        assert recorder.find(judge, question) is None
        recorder.keep(judge, question, completion(text))
    recorder.finished(run())
    bench.merge()

    replay = bench.open(Mode.REPLAY)

    assert [said(replay.find(judge, question).response) for _ in range(3)] == ["yes", "no", "yes"]
    with pytest.raises(CassetteMissError, match="whose recorded answers were all given before"):
        replay.find(judge, question)


def test_equal_requests_side_by_side_keep_the_places_they_were_asked_in(tmp_path):
    """Of two requests in flight the one asked first is recorded first, though it was answered last."""
    bench = Bench(tmp_path)
    judge = Caller(role="judge", run=run())
    one, other = (body([{"role": "user", "content": text}]) for text in ("one", "other"))
    recorder = bench.open(Mode.RECORD)
    recorder.find(judge, one)
    recorder.find(judge, other)
    recorder.keep(judge, other, completion("to the other"))
    recorder.keep(judge, one, completion("to the one"))
    recorder.finished(run())
    bench.merge()

    assert [line.count("to the one") for line in bench.lines] == [1, 0]


def test_a_request_that_was_never_answered_is_not_recorded(tmp_path):
    """A call that failed and was made anew replays with the answer of the second."""
    bench = Bench(tmp_path)
    agent = Caller(role="agent", run=run())
    recorder = bench.open(Mode.RECORD)
    recorder.find(agent, body([]))
    recorder.find(agent, body([]))
    recorder.keep(agent, body([]), completion("at last"))
    recorder.finished(run())
    bench.merge()

    assert said(bench.open(Mode.REPLAY).find(agent, body([])).response) == "at last"


def test_a_changed_prefix_records_the_tail_anew(tmp_path):
    """The third of five messages changes: two answers replay, three are asked live, no dead answer stays."""
    bench = Bench(tmp_path)
    bench.play(Mode.RECORD, counting("old"), run(), run("other"), says=("a", "b", "c", "d", "e"))
    untouched = [line for line in bench.lines if '"other"' in line]

    ((*heard,),) = bench.play(Mode.RECORD, counting("new"), run(), says=("a", "b", "C", "d", "e"))

    assert heard == ["old 1", "old 2", "new 1", "new 2", "new 3"]
    assert len(bench.lines) == 10
    assert [line for line in bench.lines if '"other"' in line] == untouched
    assert bench.play(Mode.REPLAY, refusing, run(), says=("a", "b", "C", "d", "e")) == [heard]


def test_a_shorter_conversation_leaves_no_tail(tmp_path):
    """A run that ends earlier than it did drops what it no longer asks, and roles that no longer play."""
    bench = Bench(tmp_path)
    recorder = bench.open(Mode.RECORD)
    list(turns(recorder, run(), counting(), ["a"], "user"))
    list(turns(recorder, run(), counting(), ["a", "b", "c"]))
    recorder.finished(run())
    bench.merge()

    bench.play(Mode.RECORD, refusing, run(), says=("a", "b"))

    assert len(bench.lines) == 2
    assert all('"role":"agent"' in line for line in bench.lines)


def test_an_unfinished_run_loses_nothing(tmp_path):
    """A run cut short by a budget or a crash keeps its old tail, and what it newly asked is added."""
    bench = Bench(tmp_path)
    bench.play(Mode.RECORD, counting("old"), run(), says=("a", "b", "c"))

    bench.play(Mode.RECORD, counting("new"), run(), says=("a", "B"), finish=False)

    assert bench.play(Mode.REPLAY, refusing, run(), says=("a", "b", "c")) == [["old 1", "old 2", "old 3"]]
    assert bench.play(Mode.REPLAY, refusing, run(), says=("a", "B")) == [["old 1", "new 1"]]


def test_a_run_whose_server_failed_loses_nothing(tmp_path):
    """A request that was never answered means that the run was cut short, whatever its caller makes of it."""
    bench = Bench(tmp_path)
    bench.play(Mode.RECORD, counting("old"), run(), says=("a", "b", "c"))
    recorder = bench.open(Mode.RECORD)
    talk = turns(recorder, run(), refusing, ["a", "B"])
    next(talk)
    with pytest.raises(AssertionError, match="asked live"):
        next(talk)
    recorder.finished(run())
    bench.merge()

    assert bench.play(Mode.REPLAY, refusing, run(), says=("a", "b", "c")) == [["old 1", "old 2", "old 3"]]


def test_refresh_replaces_the_runs_that_were_played(tmp_path):
    """Everything is asked live, played runs are rewritten, others stay, an unfinished one stays as it was."""
    bench = Bench(tmp_path)
    bench.play(Mode.RECORD, counting("old"), run(), run("other"), run("cut"))

    assert bench.play(Mode.REFRESH, counting("new"), run()) == [["new 1", "new 2", "new 3"]]
    bench.play(Mode.REFRESH, counting("half"), run("cut"), says=("a",), finish=False)

    assert bench.play(Mode.REPLAY, refusing, run(), run("other"), run("cut")) == [
        ["new 1", "new 2", "new 3"],
        ["old 4", "old 5", "old 6"],
        ["old 7", "old 8", "old 9"],
    ]


def test_equal_answers_have_equal_bytes(tmp_path):
    """Recording anew what a model answers alike changes no byte, whatever ids and times its server adds."""
    bench = Bench(tmp_path)
    other = {"id": "x", "created": 2, "system_fingerprint": "fp_2", "timings": {"prompt_ms": 7.5}}
    answers = [completion("same"), {**completion("same"), **other}]
    texts = []
    for answer in answers:
        bench.play(Mode.REFRESH, lambda _, answer=answer: answer, run())
        texts.append(bench.text)

    assert texts[0] == texts[1]


def test_a_run_played_again_hears_the_same_again(tmp_path):
    """A rerun of a test in one process starts from the first recording; the last play is the one recorded."""
    bench = Bench(tmp_path)
    bench.play(Mode.RECORD, counting(), run())

    assert bench.play(Mode.REPLAY, refusing, run(), run()) == [["answer 1", "answer 2", "answer 3"]] * 2
    recorder = bench.open(Mode.REPLAY)
    half = turns(recorder, run(), refusing, ["a", "b"])
    next(half)
    recorder.started(run())
    assert list(turns(recorder, run(), refusing, ["a"])) == ["answer 1"]

    bench.play(Mode.REFRESH, counting("again"), run(), run(), says=("a",))
    assert bench.play(Mode.REPLAY, refusing, run(), says=("a",)) == [["again 2"]]


def test_attempts_that_are_no_longer_needed_go(tmp_path):
    """A run that was tried twice and now decides at once keeps one attempt."""
    bench = Bench(tmp_path)
    bench.play(Mode.RECORD, counting(), run(), run(attempt=2), run("other", attempt=2))
    assert len(bench.lines) == 9

    bench.play(Mode.REFRESH, counting(), run())

    assert len(bench.lines) == 6
    assert sum('"attempt":2' in line for line in bench.lines) == 3


def test_work_of_the_session_is_recorded_too(tmp_path):
    """Calls that belong to no run have a place of their own, before all runs."""
    bench = Bench(tmp_path)
    recorder = bench.open(Mode.RECORD)
    list(turns(recorder, run(), counting(), ["a"]))
    list(turns(recorder, None, counting("critic"), ["a"], "critic"))
    bench.merge()

    assert '"run":null' in bench.lines[0]
    assert list(turns(bench.open(Mode.REPLAY), None, refusing, ["a"], "critic")) == ["critic 1"]


def test_off_reads_and_writes_nothing(tmp_path):
    """Mode off finds nothing, keeps nothing, and does not even read a broken file."""
    bench = Bench(tmp_path)
    bench.cassette.write_text("broken")
    recorder = bench.open(Mode.OFF)

    assert list(turns(recorder, run(), counting(), ["a"])) == ["answer 1"]
    assert not bench.shards.exists()


def test_replay_writes_nothing(tmp_path):
    """A replay leaves the file and its folder as they were."""
    bench = Bench(tmp_path)
    bench.play(Mode.RECORD, counting(), run())
    bench.shards.rmdir()
    before = bench.text

    bench.play(Mode.REPLAY, refusing, run())

    assert bench.text == before
    assert [path.name for path in tmp_path.iterdir()] == [bench.cassette.name]


def test_ignored_patterns_apply_to_what_was_recorded_before(tmp_path):
    """A pattern added after recording lets the recording fit: keys are made anew when a cassette is read."""
    bench = Bench(tmp_path)
    agent = Caller(role="agent", run=run())
    bench.play(Mode.RECORD, counting(), run(), says=("It is 10:11.",))
    asked = body([{"role": "system", "content": "Help."}, {"role": "user", "content": "It is 12:13."}])

    with pytest.raises(CassetteMissError):
        bench.open(Mode.REPLAY).find(agent, asked)
    found = bench.open(Mode.REPLAY, ignore=[r"\d\d:\d\d"]).find(agent, asked)

    assert said(found.response) == "answer 1"


def test_what_replays_is_a_whole_chat_completion(tmp_path):
    """Clients that insist on ids, times and indexes find them, the same each time; calls and usage are as recorded."""
    bench = Bench(tmp_path)
    call = {"id": "call_x1", "type": "function", "function": {"name": "look", "arguments": '{"a": "\ud83d"}'}}
    live = completion(None, tool_calls=[call])
    bench.play(Mode.RECORD, lambda _: live, run(), says=("a",))

    asked = body([{"role": "system", "content": "Help."}, {"role": "user", "content": "a"}])
    response = bench.open(Mode.REPLAY).find(Caller(role="agent", run=run()), asked).response

    assert {"id", "object", "created", "model", "choices", "usage"} <= response.keys()
    assert response["choices"][0]["index"] == 0
    assert response["choices"][0]["finish_reason"] == "tool_calls"
    assert response["choices"][0]["message"] == {"role": "assistant", "content": None, "tool_calls": [call]}
    assert response["usage"] == live["usage"]
