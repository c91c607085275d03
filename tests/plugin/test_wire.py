"""What agents say survives the way from a worker to the controller, whatever it is."""

from xml.etree import ElementTree

import pytest

from tests.plugin.project import Project
from tests.plugin.test_review import generated

ODD = """
import enum, re, sys

NAN = float("nan")

class Size(enum.StrEnum):
    LARGE = "large"

def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        print("half a pair \\ud83d in the output".encode("utf-8", "surrogatepass").decode("utf-8", "replace"))
        order = re.search(r"W[0-9]+", message)
        if order is None:
            return "Bye \\ud83d \\x1b[31mred\\x1b[0m"
        call["refund"](order_id="W0" if order[0] == "W2" else order[0])
        return [
            {"role": "assistant", "tool_calls": [{"name": "measure", "arguments": {"size": Size.LARGE, "x": NAN}}]},
            {"role": "tool", "content": "half a pair \\udc00"},
            {"role": "assistant", "content": f"Done \\ud83d for {Size.LARGE}"},
        ]

    return reply
"""

BIG = """
def refund(state: dict, order_id: str) -> str:
    state["orders"][order_id]["status"] = "refunded"
    return "x" * 5_000_000
"""


def test_lone_surrogates_enums_and_nan_survive(anywhere: Project) -> None:
    """No text of an agent ends the session, in passing and in failing runs."""
    anywhere.suite("fine", "wrong", agent=ODD)

    result = anywhere.run()

    assert anywhere.verdicts() == {"fine": "passed", "wrong": "failed"}
    assert "\x1b[31m" not in result.stdout.str()
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_a_tool_result_of_five_megabytes_survives(anywhere: Project) -> None:
    """Large results cross and are kept in full in the transcript."""
    anywhere.suite("big", tools=BIG)

    anywhere.run()

    (result,) = anywhere.document.results
    (file,) = anywhere.pytester.path.glob(".agentbench/runs/*/transcripts/*.json")
    assert result.passed
    assert file.stat().st_size > 5_000_000


def test_a_failing_ordinary_test_with_a_lone_surrogate_does_not_end_the_session(anywhere: Project) -> None:
    """Our hooks clean the reports of tests beside ours too."""
    anywhere.suite("fine")
    anywhere.write("test_plain.py", "def test_plain():\n    raise AssertionError('half \\ud83d')\n")

    result = anywhere.run()

    result.assert_outcomes(passed=1, failed=1)


@pytest.mark.slow
def test_results_are_equal_in_one_process_and_in_two(project: Project) -> None:
    """The same suite gives the same results JSON but for times and places, ids of workers included.

    So are exit status and JUnit, gates that hold, fail or wait for runs that nobody has reviewed, and what is counted.
    """
    pending = [generated("pending", "W2"), generated("waits", "W1", tags=["waits"])]
    gates = ["success >= 0.5", "success >= 0.99", "tag.waits >= 1"]
    project.suite(*[f"s{number}" for number in range(12)], *pending, agent=ODD, gates=gates)
    told = []

    for workers in ("-n0", "-n2"):
        result = project.run(workers, "--junitxml=junit.xml")
        cases = ElementTree.parse(project.pytester.path / "junit.xml").getroot()[0]
        failed = [case.get("name") for case in cases if case.find("failure") is not None]
        last = result.outlines[-1].strip("= ").partition(" in ")[0].split(", ")
        told.append((result.ret, sorted(last), failed, cases.get("failures"), project.comparable))

    assert told[0] == told[1]
    status, last, failed, failures, results = told[0]
    assert (status, failed, failures) == (1, ["gate success >= 0.99"], "1")
    assert last == ["1 gate failed", "1 missed", "11 passed", "2 pending review"]
    assert [one["passed"] for one in results["gates"]] == [True, False, None, True]  # the last is that of errors
    assert len(results["results"]) == 14
