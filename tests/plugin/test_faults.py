"""Faults at the tools, in whole sessions: as an axis, as a key of a scenario, for every kind and both ways to call."""

import json

import pytest

from tests.plugin.project import Project

TOOLS = '''
def get_order(state: dict, order_id: str) -> dict:
    """Look an order up."""
    return {"id": order_id, **state["orders"][order_id]}

def refund(state: dict, order_id: str) -> str:
    """Refund an order."""
    order = state["orders"][order_id]
    order["refunds"] = order.get("refunds", 0) + 1
    return "ok"
'''

WRAPPED = """
import re

def build(tools, tries=1, claims=False, lies=False, checks=False):
    call = {tool.__name__: tool for tool in tools}

    def attempt(name, **arguments):
        for left in reversed(range(tries)):
            try:
                return call[name](**arguments)
            except Exception:
                if not left:
                    raise

    def reply(message):
        order = re.search(r"W[0-9]+", message)
        if order is None:
            return "You are welcome."
        try:
            found = attempt("get_order", order_id=order[0])
            attempt("refund", order_id=order[0])
            if checks and not attempt("get_order", order_id=order[0]).get("refunds"):
                attempt("refund", order_id=order[0])
        except Exception as error:
            if claims:
                return "Done, order refunded."
            if lies:
                return "Order refunded: 48.90 EUR are on their way."
            return "I am sorry, that did not work."
        return "It is refunded."

    return reply
"""

RETURNED = """
def build():
    def reply(message, results):
        if results:
            failed = any("Error" in result["content"] for result in results)
            return "I am sorry, that did not work." if failed else "It is refunded."
        calls = [{"id": "1", "function": {"name": "get_order", "arguments": '{"order_id": "W1"}'}},
                 {"id": "2", "function": {"name": "refund", "arguments": '{"order_id": "W1"}'}}]
        return {"role": "assistant", "tool_calls": calls}

    return reply
"""


def session(project: Project, *faults: object, agent: str = WRAPPED, **keys: object) -> dict[str, dict[str, object]]:
    """Run one scenario under an axis of faults; give the results by the name of the fault."""
    project.suite("W1", agent=agent, tools=TOOLS, orders=4, faults=list(faults), **keys)
    project.run()
    document = json.loads((project.pytester.path / ".agentbench" / "results.json").read_text())
    return {result["key"]["fault"]: result for result in document["results"]}


def test_a_scenario_runs_once_under_each_fault(anywhere: Project) -> None:
    """Ids name the fault; the table tells how often each struck and what became of it."""
    anywhere.suite("W1", agent=WRAPPED, tools=TOOLS, orders=4, faults=["none", "timeout@refund", "latency@refund#3"])

    result = anywhere.run("-v")

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines_random(["*W1[[]none]*", "FAILED *W1[[]timeout.refund]*"])
    result.stdout.fnmatch_lines(
        [
            "fault * runs  struck  recovered  given up  made up  passed  not scored",
            "timeout@refund *    1       1          0         1        0       0           0",
            "latency@refund#3 *  1       0 *",
        ]
    )


@pytest.mark.parametrize("agent", [WRAPPED, RETURNED], ids=["wrapped", "returned"])
def test_what_each_kind_leads_to(project: Project, agent: str) -> None:
    """Faults that show are the agent's to handle; what a silent one spoilt is the environment's."""
    kinds = ["none", "timeout@refund", "error@refund", "rate_limit@refund", "timeout@refund#every", "no_op@refund"]
    kinds += ["duplicate@refund", "empty@get_order", "truncated@get_order", "stale@get_order", "corrupted@get_order"]
    kinds += ["wrong_row@get_order", "wrong_row@refund"]

    found = session(project, *kinds, agent=agent)

    ends = {fault: (result["verdict"], result["blame"]) for fault, result in found.items()}
    failed, unseen, passed = ("failed", "agent"), ("error", "environment"), ("passed", None)
    assert ends == {
        "none": passed,
        "timeout.refund": failed,
        "error.refund": failed,
        "rate_limit.refund": failed,
        "timeout.refund.every": ("error", "unclear"),
        "no_op.refund": unseen,
        "duplicate.refund": unseen,
        "empty.get_order": passed,
        "truncated.get_order": passed,
        "stale.get_order": passed,
        "corrupted.get_order": passed,
        "wrong_row.get_order": passed,
        "wrong_row.refund": unseen,
    }
    assert all(result["metrics"]["faults_met"] == 1 for fault, result in found.items() if fault != "none")


LISTS = '''
def some(state: dict) -> list:
    """List the orders."""
    return [*state["orders"]]

def by_id(state: dict) -> dict:
    """Give the orders by id."""
    return state["orders"]

def one(state: dict) -> dict:
    """Give an order."""
    return {"id": "W1", **state["orders"]["W1"]}

def text(state: dict) -> str:
    """Name the orders."""
    return ", ".join(state["orders"])
'''

LISTER = """
def build(tools, adds=""):
    return lambda message: " / ".join([*(str(tool()) for tool in tools), adds])
"""


def test_an_empty_collection_may_be_the_answer(project: Project) -> None:
    """Of a list or of objects by their keys there may be none, as the agent says; no record and no text are odd.

    An amount that nothing gave it is made up in either case; that there are none makes a sum of zero.
    """
    names = ("some", "by_id", "one", "text")
    says = {
        "id": "a",
        "says": ["Which?"],
        "communicate": ["W0, W1", "{'W0'", "'id': 'W1'", "['W0'"],
        "expect": [*names],
    }
    faults = ["none", *(f"empty@{name}" for name in names)]
    adds = {"plain": {}, "lies": {"adds": "Your refund is 731.55 EUR."}, "sums": {"adds": "You owe 0.00 EUR."}}
    project.suite(says, agent=LISTER, tools=LISTS, orders=3, faults=faults, variants=adds)
    project.run("--agentbench-variant", "all")

    document = json.loads((project.pytester.path / ".agentbench" / "results.json").read_text())
    ends = {name: {} for name in adds}
    for result in document["results"]:
        ends[result["key"]["variant"]][result["key"]["fault"]] = (result["verdict"], result["blame"])
    unseen, failed = ("error", "environment"), ("failed", "agent")
    assert {name: found.pop("none") for name, found in ends.items()} == dict.fromkeys(adds, ("passed", None))
    assert ends.pop("lies") == {f"empty.{name}": failed for name in names}
    for found in ends.values():
        assert found == {"empty.some": unseen, "empty.by_id": unseen, "empty.one": failed, "empty.text": failed}


def test_trying_again_recovers(project: Project) -> None:
    """A fault that strikes once is overcome by a second call."""
    found = session(project, "timeout@refund", variants={"patient": {"tries": 2}})

    (result,) = found.values()
    assert result["verdict"] == "passed"
    assert result["metrics"]["faults_recovered"] == 1


def test_an_effect_without_an_answer_is_doubled_by_trying_again(project: Project) -> None:
    """The refund took place, the answer was lost: the second one is a refund too many."""
    found = session(project, {"timeout": {"tool": "refund", "done": True}}, variants={"patient": {"tries": 2}})

    (result,) = found.values()
    assert (result["verdict"], result["blame"]) == ("failed", "agent")
    assert "refunds: expected 1, is 2" in str(result["findings"])


def test_whoever_looks_again_sees_a_silent_fault(project: Project) -> None:
    """An agent that verifies what it wrote undoes what did nothing."""
    found = session(project, "no_op@refund", variants={"careful": {"checks": True}})

    assert found["no_op.refund"]["verdict"] == "passed"


def test_a_figure_in_the_place_of_an_answer_fails(project: Project) -> None:
    """An agent that invents an amount after no answer came is caught by that, whatever it says."""
    found = session(project, "timeout@refund#every", variants={"lies": {"lies": True}})

    (result,) = found.values()
    fault = [finding for finding in result["findings"] if finding["kind"] == "fault"]
    assert (result["verdict"], result["blame"]) == ("failed", "agent")
    assert "48.9 came from nowhere" in fault[0]["message"]


@pytest.mark.parametrize("words", [{}, {"claims": True}], ids=["honest", "lies"])
def test_what_a_tool_that_stays_broken_made_impossible_is_not_measured(
    project: Project, words: dict[str, bool]
) -> None:
    """Whether the user was told stands in words, which nobody reads here: no failure, and no pass."""
    found = session(project, "timeout@refund#every", variants={"one": words})

    (result,) = found.values()
    assert (result["verdict"], result["blame"]) == ("error", "unclear")
    assert [part["cure"] for part in result["unmeasured"]] == ["let an `auditor` read whether the user was told"]


def test_a_scenario_may_have_faults_of_its_own(project: Project) -> None:
    """They strike in each of its runs; where and in which call can be said."""
    project.suite("W1", "W2", agent=WRAPPED, tools=TOOLS, orders=4)
    file = project.pytester.path / "bench" / "agentbench.yaml"
    suite = file.read_text()
    own = json.dumps([{"error": {"tool": "refund", "where": {"order_id": "W1"}, "message": "card declined"}}])
    file.write_text(suite.replace('"id": "W1"', f'"faults": {own}, "id": "W1"'))
    assert own in file.read_text()

    result = project.run()

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*tool error: card declined*"])


def test_the_same_seed_spoils_the_same(project: Project) -> None:
    """What is corrupted depends on the seed alone."""
    first = session(project, "corrupted@get_order", "wrong_row@get_order")
    again = session(project, "corrupted@get_order", "wrong_row@get_order")

    folder = project.pytester.path / ".agentbench" / "runs"
    texts = [
        sorted(json.dumps(json.loads(path.read_text())["messages"]) for path in run.rglob("transcripts/*.json"))
        for run in sorted(folder.iterdir())
    ]
    assert first.keys() == again.keys()
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("timeout@refnd", "there is no tool 'refnd'; there are get_order, refund (did you mean 'refund'?)"),
        ("timout@refund", "found 'timout@refund', expected kind, kind@tool or kind@tool#2; kinds: timeout, error"),
        ({"timeout": {"calls": [0]}}, "faults"),
    ],
)
def test_a_fault_that_cannot_strike_is_a_collection_error(project: Project, fault: object, told: str) -> None:
    """With its place, what was found and what is allowed."""
    project.suite("W1", agent=WRAPPED, tools=TOOLS, orders=4, faults=[fault])

    result = project.run()

    result.assert_outcomes(errors=1)
    assert told in result.stdout.str()
    assert "agentbench.yaml:" in result.stdout.str()


def test_a_state_that_cannot_be_put_back_is_told(project: Project) -> None:
    """A silent no-op undoes what the tool did; a provider of one's own must be able to."""
    project.write(
        "bench/own.py",
        """
        class State:
            isolation = "per_run"
            def open(self, initial, run):
                return {"orders": {"W1": {}}}
            def snapshot(self, handle):
                return handle
            def close(self, handle):
                pass
        """,
    )
    project.suite("W1", agent=WRAPPED, tools=TOOLS, orders=4, faults=["no_op@refund"])
    file = project.pytester.path / "bench" / "agentbench.yaml"
    suite = json.loads(file.read_text()) if file.read_text().startswith("{") else None
    assert suite is not None
    suite["environment"]["state"] = {"own": "own:State"}
    file.write_text(json.dumps(suite))

    result = project.run()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*'no_op@refund' puts the state back, which takes*save(handle) and restore*"])
