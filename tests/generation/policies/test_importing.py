"""IntellAgent's files: what they hold, what they lack, and pickles that never run."""

import json
import pickle
import sys
import types

import pytest

from pytest_agentbench.cli import main
from pytest_agentbench.core.errors import SuiteError
from pytest_agentbench.suites.intellagent.reader import read_intellagent
from tests.shared_data import SHARED, needs_shared

SHIPPED = SHARED / "data" / "intellagent"


@pytest.fixture
def foreign(monkeypatch):
    """Classes that pickle as IntellAgent's do; they are gone when the pickle is read."""
    module = types.ModuleType("simulator.dataset.events_generator")
    parent, package = types.ModuleType("simulator"), types.ModuleType("simulator.dataset")
    for name in ("Event", "Description", "EventSymbolic", "DescriptionGenerator"):
        setattr(module, name, type(name, (), {"__module__": module.__name__}))
    for one in (parent, package, module):
        monkeypatch.setitem(sys.modules, one.__name__, one)

    def make(name, **fields):
        made = getattr(module, name)()
        made.__dict__.update(fields)
        return made

    return make


@needs_shared
def test_shipped_graphs_are_read_with_what_they_lack():
    """Nodes have no category; it is found again by flow and text, and that is said."""
    found = read_intellagent(SHIPPED / "airline_run_0_graph.json")

    assert (len(found.graph.policies), len(found.graph.edges)) == (35, 595)
    assert all(policy.category for policy in found.graph.policies)
    assert any(gap.startswith("category: 35 of 35 nodes have none") for gap in found.missing)


@needs_shared
def test_shipped_events_and_dialogues_are_read():
    """Levels that differ from their policies' scores and dialogues without a verdict are counted."""
    events = read_intellagent(SHIPPED / "airline_run_0_events.json")
    dialogues = read_intellagent(SHIPPED / "airline_run_0_dialogs.json")

    assert (len(events.events), len(dialogues.dialogues)) == (30, 30)
    assert any(gap.startswith("level: 18 of 30") for gap in events.missing)
    assert any(gap.startswith("policies: 9 of 30") for gap in events.missing)
    assert sorted({one.stop for one in dialogues.dialogues}) == ["", "FAILURE", "SUCCESS"]
    assert sum(len(one.calls) for one in dialogues.dialogues) == 34


def test_a_pickled_dataset_is_read_without_its_classes(foreign, tmp_path):
    """Nested objects become events."""
    nodes = [{"flow": "Refund", "policy": "Be quick.", "score": 2}]
    inner = foreign("Description", event_description="d", expected_behaviour="b", policies=nodes, challenge_level=3)
    event = foreign("Event", id=4, scenario="s", description=foreign("EventSymbolic", description=inner), database={})
    file = tmp_path / "dataset.pickle"
    file.write_bytes(pickle.dumps(([event], 3, 0.5)))

    found = read_intellagent(file)

    (one,) = found.events
    assert (one.id, one.level, one.policy_sum, one.expected_behaviour, one.scenario) == ("4", 3, 2, "b", "s")


def test_a_pickled_graph_is_read(foreign, tmp_path):
    """The graph inside a pickled generator has its weights."""
    import networkx

    net = networkx.Graph()
    net.add_edge(0, 1, weight=8)
    nodes = [{"flow": "Refund", "policy": f"Rule {name}.", "score": 2} for name in ("one", "two")]
    file = tmp_path / "descriptions_generator.pickle"
    file.write_bytes(pickle.dumps(foreign("DescriptionGenerator", graph_info={"nodes": nodes, "G": net}, config={})))

    found = read_intellagent(file)

    assert found.graph.edges == ((0, 1, 8.0),)


class Evil:
    """Runs a command when unpickled by anything that runs pickles."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("function", [eval, exec, getattr, open, __import__, sys.exit], ids=lambda one: one.__name__)
def test_a_pickle_that_names_anything_else_is_refused(function, tmp_path):
    """Nothing of a pickle runs; the refusal names what it wanted."""
    file = tmp_path / "evil.pickle"
    file.write_bytes(pickle.dumps([Evil(function, "1")]))

    with pytest.raises(SuiteError, match=rf"refused: it names .*{function.__name__}"):
        read_intellagent(file)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80\x04garbage", b"{", b"[]", b"{}", b"3", b'{"a": 1}', b"\xff\xfe"])
def test_files_of_others_are_errors_with_the_file(data, tmp_path):
    """What is no file of IntellAgent's is an error that names it, never a traceback of ours."""
    file = tmp_path / "file.json"
    file.write_bytes(data)

    with pytest.raises(SuiteError, match=r"file\.json"):
        read_intellagent(file)


@pytest.mark.parametrize(
    "value",
    [
        {"nodes": [{}, {"policy": None, "score": "x"}], "edges": [[0, 9, 1], [0], None, [0, 1, 99]], "policies": 3},
        {"events": [{}, {"policies": "x", "database": {"t": 3}, "relevant_rows": "r"}, 7]},
        {"t": {"dialog": [{}, 3], "tools": [{"input": "{"}]}},
        [{"score": "x", "policies": "[{", "violated_policies": "[1, 'a']"}],
    ],
    ids=["graph", "events", "dialogues", "results"],
)
def test_incomplete_files_are_read_as_far_as_they_go(value, tmp_path):
    """Missing and wrong fields are gaps, not crashes."""
    file = tmp_path / "part.json"
    file.write_text(json.dumps(value))

    assert read_intellagent(file).missing or read_intellagent(file).kind == "results"


def test_the_command_says_what_is_there_and_missing(tmp_path, capsys):
    """`import-intellagent` prints counts and gaps, writes JSON, and fails with status 2 on another file."""
    file = tmp_path / "results.csv"
    file.write_text(
        "id,thread_id,score,challenge_level,policies,policies_in_dialog,violated_policies\n"
        "1,t,1,5,\"[{'flow': 'A', 'policy': 'B', 'score': 2}]\",\"[0]\",\"[]\"\n2,t,-1,5,,,\n"
    )

    status = main(["import-intellagent", str(file), "--json", str(tmp_path / "out.json")])

    printed = capsys.readouterr().out
    assert status == 0
    assert "2 results" in printed
    assert "1 of 2 results are undecided" in printed
    assert json.loads((tmp_path / "out.json").read_text())["results"][0]["exercised"] == [0]
    (tmp_path / "other.json").write_text('{"name": "other"}')
    assert main(["import-intellagent", str(tmp_path / "other.json")]) == 2
