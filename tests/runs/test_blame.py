"""Who is to blame when a run breaks: mistakes of the suite are not the agent's."""

import json
import re
import textwrap
from typing import Any

import pytest

from pytest_agentbench.core.run import Result
from pytest_agentbench.core.verdict import Blame, Verdict
from tests.plugin.project import Project

IDLE = "def build():\n    return lambda message: 'All done.'\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A user's project, run in one process."""
    return Project(pytester=pytester)


def judged(project: Project, suite: dict[str, Any], agent: str = IDLE, **files: str) -> Result:
    """Run a suite and give the result of its last scenario; `tools_py="…"` is the file tools.py."""
    whole = {"agent": "agents:build", "scenarios": [{"id": "a", "says": ["Go"]}], **suite}
    project.write("bench/agentbench.yaml", json.dumps(whole))
    project.write("bench/agents.py", textwrap.dedent(agent))
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        project.write(f"bench/{stem}.{suffix}", textwrap.dedent(text))
    project.run()
    return project.document.results[-1]


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("def build():\n    return None\n", "gave None (does it return the agent that it builds?)"),
        ("def build():\n    return lambda: 'hi'\n", "takes no message"),
        ("def build(model):\n    return lambda message: 'hi'\n", "requires model"),
    ],
)
def test_a_factory_that_does_not_fit_is_the_suites_fault(project: Project, agent: str, says: str) -> None:
    """Nothing is known about the agent then: the run is not scored."""
    result = judged(project, {}, agent)

    assert (result.verdict, result.blame) == (Verdict.ERROR, Blame.SCENARIO)
    assert says in (result.error or "")


def test_what_a_factory_raises_is_the_agents(project: Project) -> None:
    """The agent could not be built, by its own fault."""
    result = judged(project, {}, "def build():\n    raise TypeError('no model')\n")

    assert (result.verdict, result.blame) == (Verdict.FAILED, Blame.AGENT)


REFUNDING = """
def build(tools):
    def reply(message):
        try:
            tools[0](order_id="W1")
        except Exception:
            return "That does not work."
    return reply
"""


def refunded(project: Project, raising: str) -> Result:
    """Run an agent that makes the expected refund, with a tool that raises."""
    suite = {
        "environment": {"tools": "tools", "state": {"json": "state.json"}, "writes": ["refund"]},
        "scenarios": [{"id": "a", "says": ["Go"], "expect": [{"refund": {"order_id": "W1"}}]}],
    }
    tools = f"class Refused(RuntimeError):\n    pass\n\ndef refund(state, order_id: str):\n    raise {raising}\n"
    return judged(project, suite, REFUNDING, tools_py=tools, state_json="{}")


@pytest.mark.parametrize("raising", ["RuntimeError('db down')", "OSError('db down')", "Exception('db down')"])
def test_a_tool_that_never_works_is_not_the_agents_fault(project: Project, raising: str) -> None:
    """What the expected call leads to is not known then, and the run is not scored."""
    result = refunded(project, raising)

    assert (result.verdict, result.blame, result.scored) == (Verdict.ERROR, Blame.SCENARIO, False)
    assert "the expected call refund(order_id='W1') fails on a fresh environment too: " in result.findings[0].message
    assert "db down" in result.findings[0].message


@pytest.mark.parametrize("raising", ["ValueError('too late')", "PermissionError('too late')", "Refused('too late')"])
def test_an_expected_write_that_is_refused_in_any_world_is_the_scenarios_fault(project: Project, raising: str) -> None:
    """The attempt was made, and nobody can do more: the tool's own words say why."""
    result = refunded(project, raising)

    told = [one for one in result.findings if one.required and "fails on a fresh environment too" in one.message]
    assert (result.verdict, result.blame, result.scored) == (Verdict.ERROR, Blame.SCENARIO, False)
    assert [(finding.kind, finding.passed) for finding in told] == [("state", None)]
    assert told[0].message.endswith("too late")
    assert "agentbench validate" in told[0].cure


LOOKING = """
def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        try:
            found = call["get_order"](order_id="%s")
        except Exception:
            %s
            return "That does not work."
        return found
    return reply
"""
SHARED = """
import pathlib

def get_order(order_id: str):
    mark = pathlib.Path(__file__).with_name("seen")
    if order_id == "W0" or not mark.exists():
        mark.write_text("")
        raise %s
    return "Order W1 is sent."

def refund(state, order_id: str):
    state["refunded"] = order_id
"""


def looked_up(project: Project, raising: str, order: str = "W1", instead: str = "pass") -> Result:
    """Run an agent that looks an order up, with a tool that does not work the first time that any world calls it."""
    scenario = {"id": "a", "says": ["Go"], "expect": [{"get_order": {"order_id": "W1"}}], "communicate": ["sent"]}
    suite = {
        "environment": {
            "tools": "tools",
            "state": {"json": "state.json"},
            "reads": ["get_order"],
            "writes": ["refund"],
        },
        "scenarios": [scenario],
    }
    return judged(project, suite, LOOKING % (order, instead), tools_py=SHARED % raising, state_json="{}")


def test_a_tool_that_breaks_at_every_call_of_the_run_alone_is_the_environments_fault(project: Project) -> None:
    """The agent could not look up what a fresh world shows."""
    result = looked_up(project, "OSError('no connection')")

    assert (result.verdict, result.blame) == (Verdict.ERROR, Blame.ENVIRONMENT)


@pytest.mark.parametrize(
    ("raising", "order"),
    [
        ("ValueError('not now')", "W1"),  # refused, not broken
        ("OSError('no connection')", "W0"),  # this call breaks in any world: it is the agent's
    ],
)
def test_other_failed_calls_are_the_agents_affair(project: Project, raising: str, order: str) -> None:
    """It could ask again, or ask for something else."""
    result = looked_up(project, raising, order)

    assert (result.verdict, result.blame) == (Verdict.FAILED, Blame.AGENT)


@pytest.mark.parametrize("expected", ["insurance", {"insurance": {"patient_id": "P1"}}])
def test_an_expected_read_that_breaks_in_any_world_is_the_scenarios_fault(project: Project, expected: object) -> None:
    """No agent can look up what nothing answers, also where the scenario leaves open with what it is called."""
    scenario = {"id": "a", "says": ["Go"], "expect": [expected], "match": {"expected_calls": "all"}}
    agent = """
    def build(tools):
        def reply(message):
            try:
                return tools[0](patient_id="P1")
            except Exception:
                return "Sorry."
        return reply
    """
    tools = "def insurance(state, patient_id: str):\n    raise RuntimeError('no answer')\n"
    environment = {"tools": "tools", "state": {"json": "state.json"}, "reads": ["insurance"]}
    suite = {"environment": environment, "scenarios": [scenario]}

    result = judged(project, suite, agent, tools_py=tools, state_json="{}")

    assert (result.verdict, result.blame) == (Verdict.ERROR, Blame.SCENARIO), result.findings


def test_a_stray_write_is_not_excused_by_a_broken_tool(project: Project) -> None:
    """What the agent did in the meantime stands."""
    result = looked_up(project, "OSError('no connection')", instead="call['refund'](order_id='W1')")

    assert (result.verdict, result.blame) == (Verdict.FAILED, Blame.AGENT)


@pytest.mark.parametrize(
    ("ignore", "says"),
    [
        ("order.*.seen", "ignore 'order.*.seen': the state has no 'order' (did you mean 'orders'?)"),
        ("audit", "ignore 'audit': the state has no 'audit' (it has log.a, orders)"),
        ("orders.*.seen", ""),
        ("ord*", ""),
        ("log\\.a", ""),
    ],
)
def test_a_pattern_that_ignores_nothing_is_the_suites_fault(project: Project, ignore: str, says: str) -> None:
    """A misspelt table would be compared without a word."""
    environment = {"state": {"json": "state.json", "ignore": [ignore]}}
    suite = {"environment": environment, "scenarios": [{"id": "a", "says": ["Go"], "communicate": ["done"]}]}

    result = judged(project, suite, state_json='{"orders": {"W1": {"seen": 1}}, "log.a": 1}')

    assert result.verdict is (Verdict.ERROR if says else Verdict.PASSED)
    assert not says or (result.blame, result.findings[0].message) == (Blame.SCENARIO, says)


LOOKS = """
import errno, json, sqlite3

ORDERS = {"W1": "open"}

class ConnectError(Exception):
    "As client libraries name it."

class OverSQL(Exception):
    def __init__(self, orig):
        self.orig = orig

tried = []

def look(state, kind: str) -> str:
    if kind == "down":
        raise ConnectionError("unreachable")
    if kind == "late":
        tried.append(kind)
        if len(tried) == 1:
            raise TimeoutError("late")
        return "ok"
    if kind == "led":
        try:
            raise ConnectionResetError("gone")
        except OSError:
            raise ValueError("cannot look")
    if kind == "client":
        raise ConnectError("no route")
    if kind == "full":
        raise OSError(errno.ENOSPC, "No space left on device")
    if kind == "locked":
        raise sqlite3.OperationalError("database is locked")
    if kind == "sql":
        sqlite3.connect(":memory:").execute("SELECT nmae FROM orders WHERE id = ?", (kind,))
    if kind == "name":
        return serch(kind)
    if kind == "2*price":
        return eval(kind)
    if kind == "mem":
        raise MemoryError
    if "://" in kind:
        raise ConnectionRefusedError(kind)
    if kind.startswith("W"):
        sqlite3.connect(":memory:").execute("SELECT " + kind)
    if kind == "over":
        try:
            sqlite3.connect(":memory:").execute("SELECT " + kind)
        except sqlite3.Error as error:
            raise OverSQL(error) from error
    if kind == "file":
        open("/nowhere/" + kind)
    if kind in ("12.50", "invoice.pdf"):
        raise ConnectionRefusedError(111, "Connection refused")
    if kind == "REP-9":
        open("/nowhere/rep-0009.json")
    if kind == "replica":
        open("/nowhere/orders.db")
    if kind == "secret":
        raise PermissionError("not yours")
    if kind == "odd":
        raise OSError("odd")
    if kind == "key":
        return {}[kind]
    if kind == "attribute":
        return ORDERS.rows()
    if kind == "type":
        return [order["W1"] - 1 for order in [ORDERS]]
    if kind == "lost":
        return {}.get(kind)["total"]
    if kind == "fields":
        return getattr(ORDERS, kind)
    if kind.startswith("{"):
        return json.loads(kind)["days"] - 1
    raise ValueError("no such thing")

def match(state, kind):
    return ORDERS["W1"] - kind

def count(state, kind: int) -> int:
    return ORDERS["W1"] - kind

def save(state, kind: str):
    state["saved"] = kind
    if kind == "disk":
        raise sqlite3.OperationalError("disk I/O error")

def drop(state, kind: str):
    state["dropped"] = kind
"""
LOOKING_UP = """
import sys

def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        kind, *then = message.split()
        kind = None if kind == "null" else kind
        try:
            if kind == "own":
                raise ConnectionError("the agent's own")
            call["look"](kind=kind)
        except Exception:
            if then == ["raise"]:
                raise
            if then == ["wrap"]:
                raise RuntimeError(f"Error running tool look: {sys.exc_info()[1]}")
            if kind == "own":
                try:
                    call["look"](kind=kind)
                except ValueError:
                    pass
        for name in then:
            if name == "crash":
                raise AttributeError("crash")
            try:
                call[name](kind=kind)
            except Exception:
                pass
        return "Sorry."
    return reply
"""
ENVIRONMENT, AGENT = (Verdict.ERROR, Blame.ENVIRONMENT), (Verdict.FAILED, Blame.AGENT)
OUTAGES = {
    **dict.fromkeys(("down", "led", "client", "full", "locked", "sql", "name", "disk save", "late"), ENVIRONMENT),
    **dict.fromkeys(("down raise", "down wrap", "replica", "12.50", "invoice.pdf"), ENVIRONMENT),
    **dict.fromkeys(("W1", "over", "file", "secret", "odd", "key", "own", "late look", "down drop"), AGENT),
    **dict.fromkeys(("2*price", "mem", "http://127.0.0.1:9/x", "down crash", "REP-9"), AGENT),
    **dict.fromkeys(("attribute", "attribute raise", "type", "type raise", "7 count"), ENVIRONMENT),
    **dict.fromkeys(("lost", "lost raise", "fields", '{"days":"x"}', "null", "null raise", "7 match"), AGENT),
    **dict.fromkeys(("attribute crash", "attribute drop"), AGENT),
    "down save": (Verdict.PASSED, None),
}
"""What a user asks for, whose words are the tools that the agent calls; what became of the run."""


def named(words: str) -> str:
    """Give the id of the scenario in which a user says this."""
    return re.sub(r"\W+", "-", words).strip("-")


def test_what_no_arguments_break_is_the_environments_fault(project: Project) -> None:
    """A service that is down is nobody's in the run; what an argument may have caused stays the agent's affair."""
    suite = {
        "environment": {
            "tools": "tools",
            "state": {"json": "state.json"},
            "reads": ["look", "match", "count"],
            "writes": ["save", "drop"],
        },
        "policies": [{"id": "keep", "text": "Drop nothing.", "rule": {"never": {"calls": ["drop"]}}}],
        "scenarios": [
            {
                "id": re.sub(r"\W+", "-", words).strip("-"),
                "says": [words],
                "expect": [{"save": {"kind": words.split()[0]}}],
            }
            for words in sorted(OUTAGES, key="late look".__eq__)
        ],
    }
    judged(project, suite, LOOKING_UP, tools_py=LOOKS, state_json="{}")

    found = {one.key.scenario: one for one in project.document.results}
    results = {words: found[named(words)] for words in OUTAGES}
    assert {words: (one.verdict, one.blame) for words, one in results.items()} == OUTAGES
    told = "'look' broke, and no argument can be the cause: ConnectionError: unreachable (bench/tools.py:17 in look)"
    assert told in str(results["down"].findings)
    assert "led to by ConnectionResetError: gone" in str(results["led"].findings)


def test_a_rule_that_wants_what_is_down_is_not_the_agents_to_keep(project: Project) -> None:
    """It made the call that the rule asks for, and the tool broke."""
    log = {"when": {"calls": ["save"]}, "then": {"later": {"calls": ["look"]}}}
    suite = {
        "environment": {"tools": "tools", "state": {"json": "state.json"}, "reads": ["look"], "writes": ["save"]},
        "policies": [{"id": "log", "text": "Look afterwards.", "rule": log}],
        "scenarios": [{"id": "a", "says": ["down save look"], "expect": [{"save": {"kind": "down"}}]}],
    }

    result = judged(project, suite, LOOKING_UP, tools_py=LOOKS, state_json="{}")

    assert (result.verdict, result.blame) == ENVIRONMENT, result.findings


REFUSING = """
def verify(state, pin: str):
    if pin == "0000":
        return {"name": "Ann"}["nmae"]
    if pin != "4711":
        raise PermissionError("wrong PIN")

def cancel(state, order: str):
    state[order] = "cancelled"
"""
ASKING = """
import re

def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        pin = re.search(r"\\\\d{4}", message)
        if not pin:
            return "What is your PIN?"
        try:
            call["verify"](pin=pin[0])
        except (PermissionError, KeyError):
            return "That PIN is wrong."
        return "Done."
    return reply
"""


def test_a_lookup_that_refuses_what_the_user_is_to_give_is_the_scenarios_fault(project: Project) -> None:
    """The agent did as it was told; where the refusal is meant, or the lookup worked, what is missing is its own."""
    cancel, wrong = {"cancel": {"order": "W1"}}, {"knows": {"PIN": "4712"}}
    scenarios: list[dict[str, Any]] = [
        {"id": "wrong", **wrong, "expect": [cancel]},
        {"id": "contradicted", **wrong, "expect": [{"verify": {"pin": "4711"}}, cancel]},
        {"id": "meant", "says": ["Cancel W1, please.", {"inform": "It is 4712."}], "expect": [cancel]},
        {"id": "right", "knows": {"PIN": "4711"}, "expect": [cancel]},
        {"id": "slip", "knows": {"PIN": "0000"}, "expect": [], "communicate": ["done"]},
        {"id": "masked", "knows": {"PIN": "4711"}, "expect": [{"verify": {"pin": "***"}}, cancel]},
    ]
    environment = {"tools": "tools", "state": {"json": "state.json"}, "reads": ["verify"], "writes": ["cancel"]}
    suite = {"environment": environment, "scenarios": [{"says": ["Cancel W1, please."], **one} for one in scenarios]}
    judged(project, suite, ASKING.replace("\\\\", "\\"), tools_py=REFUSING, state_json="{}")

    results = {one.key.scenario: one for one in project.document.results}
    blames = {name: one.blame for name, one in results.items()}
    refused = (
        "'verify' refused what the user is to give, pin: '4712': PermissionError: wrong PIN; mend it under `knows`"
    )
    masked = "PermissionError: wrong PIN; '***' stands for a secret that was not shown, so write the value itself ("
    assert blames == {
        "wrong": Blame.SCENARIO,
        "contradicted": Blame.SCENARIO,
        "meant": Blame.AGENT,
        "right": Blame.AGENT,
        "slip": Blame.ENVIRONMENT,
        "masked": Blame.SCENARIO,
    }
    assert all(refused in str(results[name].findings) for name in ("wrong", "contradicted"))
    assert refused not in str(results["meant"].findings)
    assert masked in str(results["masked"].findings)
