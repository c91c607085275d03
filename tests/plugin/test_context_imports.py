"""What makes a context is imported when a suite is read, not in each run."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_agentbench.api.suite_loader import read_suite
from pytest_agentbench.core.errors import SuiteError


@pytest.mark.parametrize(
    ("suite", "scenario", "said"),
    [
        ({"context": {"make": "Toyota:Corolla"}}, {}, ["suite.agentbench.json", "context.make: ", "another name"]),
        ({}, {"context": {"make": "Toyota:Corolla"}}, ["suite.agentbench.json:4", "context.make: ", "another name"]),
    ],
)
def test_what_makes_a_context_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suite: dict[str, Any], scenario: dict[str, Any], said: list[str]
) -> None:
    """A plain value that looks like an import path is told with its place."""
    monkeypatch.delitem(sys.modules, "desk_of_contexts", raising=False)
    (tmp_path / "desk_of_contexts.py").write_text("def build():\n    return str\n")
    head, one = json.dumps({"agent": "desk_of_contexts:build", **suite})[:-1], {"id": "a", "says": ["Hi"], **scenario}
    path = tmp_path / "suite.agentbench.json"
    path.write_text(f'{head},\n"scenarios": [\n\n{json.dumps(one)}]}}')

    with pytest.raises(SuiteError) as caught:
        read_suite(path)

    assert [part for part in said if part not in str(caught.value)] == []
