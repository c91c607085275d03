"""The file: what is written is read, whatever it holds; what is wrong in it is said with its line."""

import contextlib
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.core.codec import dumps
from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.llm.cassette.file import (
    Cassette,
    Exchange,
    RunName,
    cassette_path,
    numbered,
    read_cassette,
    write_cassette,
)
from pytest_agentbench.llm.cassette.modes import Mode
from tests.llm.cassette.talk import Bench, counting, run
from tests.tables import each

texts = st.text(st.characters(exclude_categories=()), max_size=8)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts
messages = st.lists(st.dictionaries(st.sampled_from(["role", "content", "x"]), leaves, max_size=3), max_size=5)
requests = st.dictionaries(st.sampled_from(["model", "seed", "tools"]), leaves, max_size=3) | st.builds(
    lambda fields, listed: {**fields, "messages": listed},
    st.dictionaries(st.sampled_from(["model", "seed"]), leaves, max_size=2),
    messages,
)
names = st.just(RunName.of(None)) | st.builds(RunName, texts.filter(bool), texts, st.integers(1, 3), st.integers(1, 2))
runs = st.dictionaries(
    names, st.dictionaries(texts, st.lists(requests, min_size=1, max_size=4), max_size=2), max_size=3
)


def cassette(plan):
    """Build a cassette of the requests of each run and role."""
    made = Cassette()
    for name, roles in plan.items():
        listed = {
            role: numbered(Exchange(name, role, 0, "k", request, {"choices": []}) for request in asked)
            for role, asked in roles.items()
        }
        if listed:
            made.runs[name] = listed
    return made


def plain(held):
    """Give what a cassette says, without lines; as text, since NaN does not equal itself, with keys sorted."""
    said = [(e.run, e.role, e.n, e.key, e.request, e.response) for e in held.exchanges()]
    return json.dumps(json.loads(dumps(said)), sort_keys=True)


@given(runs)
def test_what_is_written_is_read(plan):
    """Any text, number and shape of request comes back; writing it again changes nothing; all of it is ASCII lines."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        made = cassette(plan)
        write_cassette(path, made)
        read = read_cassette(path)

        assert plain(read) == plain(made)
        assert not write_cassette(path, read)
        assert path.read_bytes().isascii()
        assert [exchange.line for exchange in read.exchanges()] == list(range(2, 2 + len(list(made.exchanges()))))


def test_lines_are_sorted_and_short(tmp_path):
    """Runs come by name, and each line says only what its request adds to the one before."""
    bench = Bench(tmp_path)
    bench.play(Mode.RECORD, counting(), run("b", trial=2), run("b"), run("a", variant="x"), says=("one", "two"))

    header, *lines = map(json.loads, bench.text.splitlines())

    assert header["agentbench_cassette"] == 1
    assert [(line["run"], line["n"]) for line in lines] == [
        ({"scenario": "a", "variant": "x"}, 1),
        ({"scenario": "a", "variant": "x"}, 2),
        ({"scenario": "b"}, 1),
        ({"scenario": "b"}, 2),
        ({"scenario": "b", "trial": 2}, 1),
        ({"scenario": "b", "trial": 2}, 2),
    ]
    assert list(lines[3]) == ["run", "role", "n", "key", "shared", "request", "response"]
    assert lines[3]["shared"] == 2
    assert [message["content"] for message in lines[3]["request"]["messages"]] == ["answer 3", "two"]


def test_the_order_of_lines_makes_no_difference(tmp_path):
    """What a merge of two branches shuffled is read, and sorted when it is written."""
    bench = Bench(tmp_path)
    bench.play(Mode.RECORD, counting(), run("a"), run("b"))
    before = bench.text
    header, *lines = before.splitlines()
    bench.cassette.write_text("\n".join([header, *reversed(lines), ""]))

    write_cassette(bench.cassette, read_cassette(bench.cassette))

    assert bench.text == before


def test_no_file_is_an_empty_cassette(tmp_path):
    """Nothing recorded yet is no error."""
    assert not read_cassette(tmp_path / "none.jsonl").runs


@each("suite", ["agentbench.yaml", "desk.agentbench.yaml", "test_desk.py"])
def test_where_a_cassette_is(suite):
    """Beside the suite file, unless the suite says otherwise."""
    assert cassette_path(Path("bench") / suite) == Path("bench") / f"{Path(suite).stem}.cassette.jsonl"
    assert cassette_path(Path("bench") / suite, Path("x.jsonl")) == Path("x.jsonl")


HEADER = '{"agentbench_cassette":1}\n'
LINE = '{"run":{"scenario":"a"},"role":"agent","n":1,"key":"k","request":{},"response":{}}\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a.jsonl:1:1: is no cassette"),
        (LINE, "a.jsonl:1:1: is no cassette"),
        (
            '{"agentbench_cassette":2}\n',
            "a.jsonl:1:1: is a cassette of version 2; this pytest-agentbench reads version 1",
        ),
        (HEADER + "<<<<<<< ours\n" + LINE, "a.jsonl:2:1: is not a line of ASCII JSON: .* \\(a merge conflict\\)"),
        (HEADER + LINE + LINE[:40] + "\n", "a.jsonl:3:1: is not a line of ASCII JSON"),
        (HEADER + "é\n", "a.jsonl:2:1: is not a line of ASCII JSON"),
        (HEADER + "[]\n", "a.jsonl:2:1: is not an exchange"),
        (HEADER + LINE + LINE, "a.jsonl:3:1: is a second exchange 1 of a, trial 1, role 'agent'; the other is line 2"),
        (
            HEADER + LINE.replace('"n":1', '"n":2'),
            "a.jsonl:2:1: is exchange 2 of a, trial 1, role 'agent', and exchange 1",
        ),
        (HEADER + LINE.replace('"n":1', '"n":"1"'), "a.jsonl:2:1: `n` is '1'; it must be a number"),
        (HEADER + LINE.replace('"n":1', '"n":1,"shared":3'), "a.jsonl:2:1: `shared` refers to the exchange before"),
        (HEADER + LINE + LINE.replace('"n":1', '"n":2,"shared":3'), "a.jsonl:3:1: `shared` is 3; .* has 0 messages"),
        (HEADER + LINE.replace('"request":{}', '"request":1'), "a.jsonl:2:1: `request` is 1; it must be an object"),
        (HEADER + LINE.replace('"response":{}', '"response":1'), "a.jsonl:2:1: `response` is 1; it must be an object"),
        (
            HEADER + LINE.replace('"scenario"', '"scenari"'),
            "a.jsonl:2:1: `run` is {'scenari': 'a'}; it must be null or",
        ),
        (HEADER + LINE.replace('"run":{"scenario":"a"},', ""), "a.jsonl:2:1: `run` is missing"),
        (HEADER + LINE.replace('"role":"agent",', ""), "a.jsonl:2:1: `role` is None; it must be text"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, said, tmp_path):
    """Each kind of damage is an error that names file, line and what to do."""
    path = tmp_path / "a.jsonl"
    path.write_text(text)

    with pytest.raises(SuiteError, match=said):
        read_cassette(path)


def test_everything_wrong_is_said_at_once(tmp_path):
    """All broken lines are listed, in the order of the file."""
    path = tmp_path / "a.jsonl"
    path.write_text(HEADER + LINE.replace('"n":1', '"n":5') + "{\n" + "[]\n")

    with pytest.raises(SuiteError) as caught:
        read_cassette(path)

    assert [problem.line for problem in caught.value.problems] == [2, 3, 4]


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data):
    """Whatever a file holds, reading it gives a cassette or a `SuiteError`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_bytes(HEADER.encode() + data)
        with contextlib.suppress(SuiteError):
            read_cassette(path)
