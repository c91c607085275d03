"""Where worlds come from: a checkout, what is installed, or nothing, said in time."""

import os
import sys
from pathlib import Path

import pytest

from pytest_agentbench.core.errors import EnvironmentFaultError
from pytest_agentbench.core.scenario import InitialState, Task
from pytest_agentbench.tau2.checkout import CheckoutSource, find_source
from pytest_agentbench.tau2.world import READ_LOG, beginning


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No source of another test, and none named by the environment."""
    find_source.cache_clear()
    monkeypatch.delenv("TAU2_BENCH", raising=False)


def test_a_checkout_is_loaded_without_its_package(checkout: Path) -> None:
    """The package's own imports are not made, nothing stays under its name, and no variable of a .env file."""
    source = find_source("notes", checkout)

    assert source.toolset.names() == {"read", "write", "drop"}
    assert "tau2" not in sys.modules
    assert "LEAKED_KEY" not in os.environ
    assert "TAU2_DATA_DIR" not in os.environ


def test_a_variable_names_the_checkout(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`TAU2_BENCH` saves naming it each time; sources are loaded once."""
    monkeypatch.setenv("TAU2_BENCH", str(checkout))

    assert find_source("bells") is find_source("bells")
    assert find_source("bells").origin == f"τ²-bench at {checkout}"


def test_what_is_missing_is_said(checkout: Path, tmp_path: Path) -> None:
    """A folder that is no checkout, a domain that is not there, a domain that does not load."""
    with pytest.raises(EnvironmentFaultError, match="is no checkout of τ²-bench"):
        find_source("notes", tmp_path)
    with pytest.raises(EnvironmentFaultError, match="has no domain 'other', but bells, notes"):
        find_source("other", checkout)
    (checkout / "src/tau2/domains/notes/environment.py").write_text("import a_package_that_is_nowhere")
    with pytest.raises(EnvironmentFaultError, match="its domains need: pip install"):
        find_source("notes", checkout)
    (checkout / "src/tau2/domains/bells/environment.py").write_text("1 / 0")
    with pytest.raises(EnvironmentFaultError, match="'bells': ZeroDivisionError"):
        find_source("bells", checkout)


def test_a_package_of_the_same_name_is_no_tau2_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyPI's `tau2` is about magnetic relaxation; it is passed over."""
    for module in [name for name in sys.modules if name.partition(".")[0] == "tau2"]:
        monkeypatch.delitem(sys.modules, module)
    (tmp_path / "tau2").mkdir()
    (tmp_path / "tau2" / "__init__.py").write_text("")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    with pytest.raises(EnvironmentFaultError, match="or install inspect_evals"):
        find_source("notes")


def test_worlds_of_one_source_share_nothing(notes: CheckoutSource) -> None:
    """What one conversation writes, no other sees."""
    first, second = notes.world(), notes.world()

    first.respond("write", "assistant", {"key": "a", "text": "changed"})

    assert second.respond("read", "assistant", {"key": "a"}) == ("first", False)
    assert not first.same_as(second)
    assert notes.world().same_as(second)


HIDDEN = {
    "id": "t1",
    "evaluation_criteria": {
        "actions": [
            {"action_id": "1", "name": "call_discoverable_agent_tool", "arguments": {"agent_tool_name": "balance"}},
            {"action_id": "2", "name": "write", "arguments": {"key": "d"}},
        ]
    },
}


def test_hidden_tools_that_are_expected_count_where_they_read() -> None:
    """As τ² derives them of a task; other tasks begin as they say."""
    assert (beginning(Task.model_validate(HIDDEN)) or InitialState()).model_extra == {READ_LOG: ["balance"]}
    assert beginning(Task.model_validate({"id": "t2"})) is None
