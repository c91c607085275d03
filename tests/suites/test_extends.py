"""`extends`: one suite file takes over the keys of another."""

import json
from pathlib import Path
from textwrap import dedent

import pytest

from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.core.suite import Suite
from pytest_agentbench.core.tool import Toolset
from pytest_agentbench.suites.call_check import check_calls
from pytest_agentbench.suites.suite_file import load_suite
from tests.suites.toolsets import tool

BASE = """
name: base
agent: {factory: "desk_agent:build", serial: true}
environment: {state: {json: shared/state.json, ignore: [log]}}
policies: policies.yaml
gates: ["success >= 0.8"]
limits: {turns: 9, seconds: 30}
context: {team: {name: blue, size: 3}}
scenarios:
  - id: hello
    says: ["Hello"]
"""

CHILD = """
extends: ../base.agentbench.yaml
limits: {turns: 4}
gates: ["success >= 0.9"]
context: {team: {size: 5}}
"""


def write(root: Path, child: str = CHILD, base: str = BASE) -> Path:
    """Write a base, its files, and a suite below it; give the suite's file."""
    files = {
        "base.agentbench.yaml": dedent(base),
        "policies.yaml": "- {id: polite, text: Be polite.}\n",
        "shared/state.json": "{}",
        "one/agentbench.yaml": dedent(child),
        "one/state.json": "{}",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    return root / "one/agentbench.yaml"


def load(path: Path) -> Suite:
    """Load a suite without an environment."""
    return load_suite(path, environ={})


def problems(path: Path) -> str:
    """Give the text of what is wrong with a suite."""
    with pytest.raises(SuiteError) as caught:
        load(path)
    return str(caught.value)


def test_mappings_merge_and_lists_are_replaced(tmp_path: Path) -> None:
    """What the suite says stands; the rest is the base's, but for its name."""
    suite = load(write(tmp_path))

    assert (suite.limits.turns, suite.limits.seconds) == (4, 30)
    assert suite.gates == ("success >= 0.9",)
    assert suite.context == {"team": {"name": "blue", "size": 5}}
    assert suite.agent.target == "desk_agent:build"
    assert suite.name == "one"
    assert [scenario.id for scenario in suite.scenarios] == ["hello"]


def test_files_are_seen_from_the_file_that_names_them_and_modules_from_the_suite(tmp_path: Path) -> None:
    """A base names its own files; what it imports is each suite's own."""
    suite = load(write(tmp_path))

    assert suite.environment.state is not None
    assert Path(str(suite.environment.state.options["file"])) == tmp_path / "shared/state.json"
    assert [policy.id for policy in suite.policies] == ["polite"]
    assert suite.root == tmp_path / "one"
    assert (suite.scenarios[0].file, suite.scenarios[0].line) == (str(tmp_path / "base.agentbench.yaml"), 10)


def test_another_kind_of_agent_or_state_replaces_the_whole(tmp_path: Path) -> None:
    """An agent is of one kind; nothing of the base's is laid beside it."""
    child = f"{CHILD}agent: {{callable: 'own:reply'}}\nenvironment: {{state: {{own: 'own:State'}}}}\n"

    suite = load(write(tmp_path, child))

    assert (suite.agent.kind, suite.agent.serial) == ("callable", False)
    assert suite.environment.state is not None
    assert (suite.environment.state.kind, suite.environment.state.ignore) == ("own", ())


def test_what_is_wrong_in_the_base_is_told_of_the_base(tmp_path: Path) -> None:
    """Each problem has the file, line and column where it is written."""
    base = BASE.replace("turns: 9", "turn: 9").replace("policies.yaml", "missing.yaml")
    path = write(tmp_path, f"{CHILD}trials: none\n", base)

    text = problems(path)

    assert f"{tmp_path}/base.agentbench.yaml:7:10: limits.turn: unknown key 'turn'" in text
    assert f"{tmp_path}/base.agentbench.yaml:5:11: policies: there is no file 'missing.yaml' in {tmp_path}" in text
    assert f"{path}:6:9: trials: found 'none'" in text


def test_an_inherited_call_of_no_tool_is_told_of_the_base(tmp_path: Path) -> None:
    """The checks against the tools know where an inherited scenario stands."""
    base = f"{BASE}    expect: [{{no_such_tool: {{}}}}]\n"

    found = check_calls(load(write(tmp_path, base=base)), Toolset(specs=(tool("look"),)))

    assert [(one.file, one.line) for one in found] == [(tmp_path / "base.agentbench.yaml", 12)]


def test_a_chain_of_bases_is_followed_and_a_circle_is_refused(tmp_path: Path) -> None:
    """A base may extend another one, never itself."""
    path = write(tmp_path, base=f"extends: top.yaml\n{BASE}")
    (tmp_path / "top.yaml").write_text("trials: 3\nlimits: {seconds: 5, tool_calls: 7}\n")

    suite = load(path)

    assert (suite.trials, suite.limits.seconds, suite.limits.tool_calls) == (3, 30, 7)
    (tmp_path / "top.yaml").write_text("extends: one/agentbench.yaml\n")
    assert f"{tmp_path}/top.yaml:1:10: extends: 'one/agentbench.yaml' extends this file" in problems(path)


def test_a_base_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With the place and what paths are relative to."""
    path = write(tmp_path, "extends: ../bas.yaml\n")

    assert problems(path) == (
        f"{path}:1:10: extends: there is no file '../bas.yaml' (the path is relative to the folder of this file)"
    )


def test_a_json_suite_and_a_suite_without_extends_stay_as_they_are(tmp_path: Path) -> None:
    """Nothing is merged where nothing is extended."""
    file = tmp_path / "agentbench.yaml"
    file.write_text(json.dumps({"agent": "a:b", "scenarios": [{"id": "x", "says": ["Hi"]}]}))

    assert load(file).scenarios[0].file == str(file)
