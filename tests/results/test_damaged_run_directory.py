"""A run directory that was cut off, shuffled or written into by others is continued with what is whole."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.run import Result
from pytest_agentbench.results.run_directory import RunDirectory
from tests.results.make import result

NAMES = ("a", "b", "c")
LOGS = ("shards/main.jsonl", "journal/main.jsonl", "meta.json")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base folder with one run directory: three results, one of them by a later session, and one run in flight."""
    base = tmp_path_factory.mktemp("base")
    directory = RunDirectory.create(base, "run-1", {})
    with directory.writer("main") as main:
        for name in NAMES[:2]:
            main.started(result(name).key)
            main.append(result(name))
    directory.close()
    again = RunDirectory.open(directory.path)
    again.resume()
    with again.writer("main") as main:
        main.started(result("c").key)
        main.append(result("c"))
        main.started(result("d").key)
    again.close()
    return base


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(whole, tmp_path / "base"))


def taken_up(base: Path, *, locked: bool = True) -> tuple[RunDirectory, dict[str, Result]]:
    """Continue as `--agentbench-resume` does; give what it takes over. Without a lock nothing is written."""
    directory = RunDirectory.latest(base)
    assert directory is not None
    if locked:
        directory.resume()
    found = {key.scenario: one for key, one in directory.results().items()}
    directory.in_flight()
    directory.close()
    return directory, found


def test_nothing_is_left_out_of_a_whole_one(copy: Path) -> None:
    """Or a warning would stand in every session."""
    directory, found = taken_up(copy)

    assert set(found) == set(NAMES)
    assert directory.left_out == {}


def cuts(content: bytes) -> list[int]:
    """Give every length within the last line, and around each end of a line; of the lines before it, every seventh."""
    ends = {at for at, byte in enumerate(content) if byte == ord("\n")}
    last = content.rstrip(b"\n").rfind(b"\n")
    return [at for at in range(len(content)) if at > last or at % 7 == 0 or ends & {at - 1, at, at + 1}]


@pytest.mark.parametrize("log", LOGS)
def test_a_cut_at_any_byte_loses_at_most_what_was_cut(copy: Path, log: str) -> None:
    """What is taken over is what was stored; a line that is not whole is named, and so is a damaged meta.json."""
    file = copy / "runs" / "run-1" / log
    whole_bytes = file.read_bytes()
    stored = taken_up(copy, locked=False)[1]
    for length in cuts(whole_bytes):
        file.write_bytes(whole_bytes[:length])

        directory, found = taken_up(copy, locked=False)

        assert all(stored[name] == one for name, one in found.items())
        lines = whole_bytes[:length].split(b"\n")
        torn = bool(lines[-1]) and lines[-1] not in whole_bytes.split(b"\n")
        if log == "meta.json":
            assert set(found) == set(NAMES)
            assert ("meta.json" in directory.left_out) == (length < len(whole_bytes.rstrip()))
        else:
            assert (f"{log}:{len(lines)}" in directory.left_out) == torn
            assert length < len(whole_bytes) - 1 or set(found) == set(NAMES)


FOREIGN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["session", "result", "key", "event", "suite", "$float", "x"]), inner, max_size=4
        )
    ),
    max_leaves=8,
).map(json.dumps) | st.binary(max_size=20).map(lambda data: data.decode("latin-1").replace("\n", ""))


@settings(max_examples=40)
@given(
    log=st.sampled_from(LOGS),
    foreign=st.lists(FOREIGN, min_size=1, max_size=3),
    order=st.randoms(use_true_random=False),
)
def test_foreign_and_swapped_lines_are_passed_over(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, log: str, foreign: list[str], order: object
) -> None:
    """Whatever parses and is not ours, in whatever order: every result is taken over as it was stored."""
    base = Path(shutil.copytree(whole, tmp_path_factory.mktemp("copy") / "base"))
    stored = taken_up(Path(shutil.copytree(base, tmp_path_factory.mktemp("copy") / "base")))[1]
    file = base / "runs" / "run-1" / log
    lines = [*file.read_bytes().splitlines(), *(line.encode("latin-1", "replace") for line in foreign)]
    order.shuffle(lines)
    file.write_bytes(b"\n".join(lines) + b"\n")

    directory, found = taken_up(base)

    assert found == stored
    blank = all(not line.strip() for line in foreign)
    assert directory.left_out or blank
    shutil.rmtree(base)


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"session": 99, "result": RESULT}',
        '{"session": true, "result": RESULT}',
        '{"session": "0", "result": RESULT}',
        '{"$float": []}',
        "9" * 5_000,
    ],
)
def test_a_line_that_looks_like_ours_and_is_not_is_named(copy: Path, line: str) -> None:
    """A session that never was would win over every later one."""
    file = copy / "runs" / "run-1" / LOGS[0]
    own = json.loads(file.read_text().splitlines()[0])["result"]
    file.write_text(file.read_text() + line.replace("RESULT", json.dumps({**own, "verdict": "failed"})) + "\n")

    directory, found = taken_up(copy)

    assert all(one.passed for one in found.values())
    assert set(directory.left_out) == {f"{LOGS[0]}:4"}
