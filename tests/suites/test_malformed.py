"""Malformed suites and scenarios: each loads or is a readable collection error, never anything else."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.suites.hashes import scenario_hash
from pytest_agentbench.suites.suite_file import load_suite
from pytest_agentbench.suites.transcripts import read_recordings
from pytest_agentbench.tau2.tasks import export_tasks
from tests.suites.forms import SCENARIO, SUITE, TASK, lay_out

ODD = st.sampled_from(
    ["", " ", "\x00", "\ud800", "𝔘", "\u202e", "\x1b[31m", "é" * 300, "${HOME", "${X}", "$${", "{$any: true}", "..",
     "../../etc", "con", "t1", "<<", "*a", "&a", "- - -", "a: b: c", "9" * 5000, "/", "**", "[", "a\nb", "\t"]
)  # fmt: skip
PIECES = st.sampled_from([b": ", b"- ", b"[", b"}", b"\t", b"&a ", b"*a", b"!!x ", b"\n", b"  ", b"'"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | ODD, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def mutated(draw: st.DrawFn, valid: dict[str, Any]) -> Any:
    """Give a valid form with one to three parts replaced, removed, renamed or doubled."""
    value: Any = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, 3))):
        spots = list(_spots(value))
        if not spots:
            return draw(JSON)
        parent, key = draw(st.sampled_from(spots))
        match draw(st.sampled_from(["replace", "replace", "remove", "rename", "double"])):
            case "replace":
                parent[key] = draw(JSON)
            case "remove":
                del parent[key]
            case "rename" if isinstance(parent, dict):
                parent[draw(st.text(max_size=8) | ODD | st.just(f"{key}s"))] = parent.pop(key)
            case _ if isinstance(parent, list):
                parent.append(parent[key])
    return value


@st.composite
def scrambled(draw: st.DrawFn, text: str) -> bytes:
    """Give the bytes of a text with pieces cut out and garbage put in."""
    data = bytearray(text.encode())
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        garbage = draw(st.binary(max_size=6) | PIECES)
        data[at : at + draw(st.integers(0, 6))] = garbage
    return bytes(data)


def _spots(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        yield value, key
        yield from _spots(item)


def _as_yaml(value: Any) -> bytes:
    return yaml.safe_dump(value, allow_unicode=True, sort_keys=False).encode("utf-8", "surrogatepass")


def _as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


BYTES = st.binary(max_size=60)
SUITES = mutated(SUITE).map(_as_yaml) | scrambled(_as_yaml(SUITE).decode()) | JSON.map(_as_yaml) | BYTES
SCENARIOS = mutated(SCENARIO).map(_as_yaml) | scrambled(_as_yaml([SCENARIO]).decode()) | JSON.map(_as_yaml)
TASKS = mutated(TASK).map(_as_json) | mutated(TASK).map(lambda task: _as_json([task])) | scrambled(json.dumps([TASK]))


def _loads_or_says_why(path: Path) -> Suite | None:
    """Load a suite; on an error, check that each problem names a file and says something."""
    try:
        suite = load_suite(path, environ={"HOME": "/home/x"})
    except SuiteError as found:
        problems = found.problems
    else:
        assert suite.content_hash
        for scenario in suite.scenarios:
            assert scenario_hash(scenario)
        export_tasks(suite.scenarios)
        return suite
    assert problems
    for problem in problems:
        assert problem.file.name
        assert problem.message.strip()
        assert "Traceback" not in str(problem)
    return None


relaxed = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with the files that the valid suite names."""
    lay_out(tmp_path)
    return tmp_path


def test_the_valid_forms_load(root: Path) -> None:
    """The forms that the other tests break are whole to begin with."""
    (root / "agentbench.yaml").write_bytes(_as_yaml(SUITE))
    suite = _loads_or_says_why(root / "agentbench.yaml")
    assert suite is not None
    assert [scenario.id for scenario in suite.scenarios] == ["refund-late", "hello", "from-a-file", "task-1"]


@relaxed
@given(data=SUITES)
def test_malformed_suites_are_readable_errors(root: Path, data: bytes) -> None:
    """A broken suite file loads or raises SuiteError."""
    (root / "agentbench.yaml").write_bytes(data)
    _loads_or_says_why(root / "agentbench.yaml")


@relaxed
@given(data=SCENARIOS)
def test_malformed_scenario_files_are_readable_errors(root: Path, data: bytes) -> None:
    """A broken scenario file loads or raises SuiteError."""
    (root / "agentbench.yaml").write_text("agent: a:b\nscenarios: [broken.yaml]\npolicies: [{id: late, text: x}]\n")
    (root / "broken.yaml").write_bytes(data)
    _loads_or_says_why(root / "agentbench.yaml")


@relaxed
@given(data=TASKS)
def test_malformed_task_files_are_readable_errors(root: Path, data: bytes) -> None:
    """A broken τ² task file loads or raises SuiteError."""
    (root / "agentbench.yaml").write_text("agent: a:b\nscenarios: [broken.json]\npolicies: [{id: late, text: x}]\n")
    (root / "broken.json").write_bytes(data)
    _loads_or_says_why(root / "agentbench.yaml")


RECORD: dict[str, Any] = {
    "task_id": "1",
    "status": "FINISHED",
    "messages": [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "list", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "[]"},
    ],
}
SIMULATION: dict[str, Any] = {
    "task_id": "1",
    "task_key": "k",
    "termination_reason": "user_stop",
    "agent_llm": "m",
    "reward": 1.0,
    "messages": [
        {"role": "assistant", "tool_calls": [{"id": "c", "name": "list", "arguments": {}, "requestor": "assistant"}]},
        {"role": "tool", "id": "c", "content": "[]", "requestor": "assistant", "error": False},
        {"role": "user", "content": "###STOP###"},
    ],
}
OWN: dict[str, Any] = {
    "key": {"suite": "s", "scenario": "1", "variant": "v"},
    "termination": "FINISHED",
    "stop_reason": "user",
    "messages": [{"role": "user", "content": "Hi"}],
}
RECORDS = (
    mutated(RECORD).map(_as_json)
    | mutated(SIMULATION).map(_as_json)
    | mutated(OWN).map(_as_json)
    | mutated({"simulations": [SIMULATION], "info": {"agent_info": {"llm": "m"}}}).map(_as_json)
    | scrambled(json.dumps(RECORD))
    | JSON.map(_as_json)
)


@relaxed
@given(data=RECORDS, suffix=st.sampled_from([".jsonl", ".json"]))
def test_malformed_recordings_are_readable_errors(tmp_path: Path, data: bytes, suffix: str) -> None:
    """A broken recording is read or raises SuiteError."""
    file = tmp_path / f"runs{suffix}"
    file.write_bytes(data)
    try:
        list(read_recordings(file))
    except SuiteError as found:
        problems = found.problems
    else:
        return
    assert all(problem.message.strip() and problem.file == file for problem in problems)
