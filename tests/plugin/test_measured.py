"""What was not measured: shown, in no rate, gated, and refused where a gate could never be measured."""

import json
import re
from typing import Any

import pytest

from tests.plugin.project import AGENT, Project

KIND = {"id": "kind", "text": "Be kind.", "challenge": 1}
WORDED = {"id": "worded", "text": "No promises.", "rule": {"when": "always", "then": {"must_not_say": "promise"}}}
ASKS = {"id": "asks", "text": "Ask first.", "rule": {"confirm_before": {"calls": ["refund"]}}}
LOOKS = {"id": "looks", "text": "Look first.", "rule": {"before": {"calls": ["refund"], "first": ["get_order"]}}}


def refund(number: int, **keys: Any) -> dict[str, Any]:
    """A refund of one order."""
    order = f"W{number}"
    return {"id": f"r{number}", "says": [f"Refund {order}"], "expect": [{"refund": {"order_id": order}}], **keys}


def measured_suite(project: Project, **keys: Any) -> None:
    """Write a suite of three refunds, two of which list a policy that nothing measures."""
    scenarios = [refund(1), refund(2, policies=["kind"]), refund(3, policies=["kind", "worded"])]
    project.suite(*scenarios, policies=[KIND, WORDED], **keys)


def test_a_run_that_left_something_open_passes_and_says_so(anywhere: Project) -> None:
    """In the verbose line, the first line of the report, its table, its list of parts, JUnit, HTML and Markdown."""
    measured_suite(anywhere)

    result = anywhere.run("-v", "--junitxml=j.xml", "--agentbench-html=r.html", "--agentbench-markdown=r.md")

    assert result.ret == 0
    result.assert_outcomes(passed=3)
    text = result.stdout.str()
    assert len(re.findall(r"PASSED \(1 part –\)", text)) == 2, text
    result.stdout.fnmatch_lines(
        [
            "3 passed, 2 with something not measured",
            "*measured*",
            "all * 3 * 3 * 100 %*",
            "policy (listed)",
            "  kind *–*–*–*–*",
            "not measured (–, in no rate): 2 of 8 parts",
            "  policy kind, 2 runs: it has no rule; give the policy a `rule`, or the suite a `judge`",
        ]
    )
    root = anywhere.pytester.path
    junit = (root / "j.xml").read_text()
    assert junit.count('name="agentbench.outcome" value="passed (1 part –)"') == 2
    assert 'name="agentbench.unmeasured" value="1 part –: policy kind"' in junit
    assert "3 of 3 passed, 2 with something not measured" in (root / "r.md").read_text()
    page = (root / "r.html").read_text()
    assert '"partly": 2' in page or '"partly":2' in page
    shares = sorted(one.metrics["measured"] or 0 for one in anywhere.document.results)
    assert shares == [pytest.approx(2 / 3), pytest.approx(2 / 3), 1.0]


def test_a_scenario_that_asks_for_nothing_passes_with_a_word(anywhere: Project) -> None:
    """It passes whatever the agent does: beside the run, in the first line, in a list, in Markdown and HTML."""
    anywhere.suite(refund(1), {"id": "idle", "says": ["Hello"]})

    result = anywhere.run("-v", "--agentbench-html=r.html", "--agentbench-markdown=r.md")

    result.stdout.fnmatch_lines(
        ["*PASSED (nothing to judge)*", "2 passed, 1 with nothing to judge", "nothing to judge: idle. *"]
    )
    assert "2 of 2 passed, 1 with nothing to judge" in (anywhere.pytester.path / "r.md").read_text()
    assert "nothing to judge: idle." in (anywhere.pytester.path / "r.html").read_text()


def test_a_rule_that_no_scenario_lists_and_no_run_can_tell_of_stands_in_the_table(project: Project) -> None:
    """An agent that tells no handoffs neither keeps nor breaks a rule about them: its row has no rate, and says so."""
    lawyers = {"id": "lawyers", "text": "Leave the lawyers out.", "rule": {"never": {"handoff": "legal"}}}
    project.suite(refund(1), policies=[lawyers, LOOKS])

    result = project.run()

    result.stdout.fnmatch_lines(["policy (exercised)", "  looks *", "policies that no run measured: lawyers"])


def test_measured_is_a_gate(anywhere: Project) -> None:
    """It is missed by what nothing in the suite measures, whatever passes."""
    measured_suite(anywhere, gates=["success >= 1", "measured >= 0.9"])
    result = anywhere.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["  success >= 1 *ok*", "  measured >= 0.9 *0.78*3*FAILED*"])


def test_a_run_of_which_nothing_was_measured_is_not_scored(anywhere: Project) -> None:
    """It is the scenario's, and says what to add."""
    anywhere.suite({"id": "a", "says": ["Thanks"], "policies": ["kind"]}, policies=[KIND])
    result = anywhere.run()
    assert result.ret == 1
    (one,) = anywhere.document.results
    assert (str(one.verdict), str(one.blame)) == ("error", "scenario")
    result.stdout.fnmatch_lines(
        ["*blame scenario, not counted against the agent*policy kind*it has no rule*give the policy a `rule`*"]
    )


@pytest.mark.parametrize(
    ("policies", "keys", "told"),
    [
        ([KIND], {}, "the policy 'kind' has no rule, and the suite no judge (give the policy a `rule`, or the suite"),
        (
            [KIND],
            {"judge": {"llm": {"model": "m", "base_url": "http://127.0.0.1:9/v1"}}},
            "the auditor is asked about policies that a scenario lists",
        ),
        (
            [KIND],
            {"judge": {"llm": {"model": "m", "base_url": "http://127.0.0.1:9/v1"}}, "auditor": "off"},
            "`auditor: off` lets no model read the runs (write `auditor: decide`, or give",
        ),
        (
            [{**ASKS, "id": "kind"}],
            {"agent": {"http": {"url": "http://127.0.0.1:9/", "reply": "answer"}}},
            "is about tool calls, and none can be seen in the agent's answers",
        ),
        (
            [{**ASKS, "id": "kind"}],
            {"agent": {"transcripts": "runs.jsonl"}},
            "no recorded message of a user has",
        ),
    ],
)
def test_a_gate_that_no_run_can_measure_is_a_collection_error(
    anywhere: Project, policies: list[Any], keys: dict[str, Any], told: str
) -> None:
    """The label, rule or role to add is named, at the gate's place in the file."""
    recorded = {"scenario": "r1", "messages": [{"role": "user", "content": "Refund W1"}]}
    anywhere.write("bench/runs.jsonl", json.dumps(recorded))
    anywhere.suite(refund(1), policies=policies, gates=["success >= 0.5", "policy.kind >= 0.9"])
    suite = anywhere.pytester.path / "bench/agentbench.yaml"
    suite.write_text(json.dumps({**json.loads(suite.read_text()), **keys}))

    result = anywhere.run()

    assert result.parseoutcomes() == {"errors": 1}
    text = " ".join(result.stdout.str().split())
    assert re.search(r"agentbench\.yaml:\d+:\d+: gates\[1\]: the gate 'policy.kind >= 0.9' can never be measured", text)
    assert told in text


@pytest.mark.parametrize("auditor", [None, "flags", "decide"])
def test_a_policy_in_words_stands_in_a_gate_only_where_the_auditor_decides(
    anywhere: Project, auditor: str | None
) -> None:
    """Else it is a collection error at the gate's place in the file, which says what to write."""
    keys: dict[str, Any] = {"judge": {"llm": {"model": "m", "base_url": "http://127.0.0.1:9/v1"}}}
    keys |= {"auditor": auditor} if auditor else {}
    anywhere.suite(refund(1, policies=["kind"]), policies=[KIND], gates=["policy.kind >= 0.9"], **keys)

    result = anywhere.run("--collect-only")

    text = " ".join(result.stdout.str().split())
    told = "gates[0]: the gate 'policy.kind >= 0.9' rests on what a model reads, since 'kind' has no rule"
    assert bool(re.search(r"agentbench\.yaml:\d+:\d+: " + re.escape(told), text)) is (auditor != "decide")
    assert ("write `auditor: decide` beside `judge`, give 'kind' a `rule`" in text) is (auditor != "decide")


def test_a_gate_on_a_tag_that_no_scenario_has_is_a_collection_error(project: Project) -> None:
    """A mistyped tag would fail every session without a word of why."""
    project.suite({**refund(1), "tags": ["smoke"]}, gates=["tag.smok >= 0.9"])

    result = project.run()

    assert result.parseoutcomes() == {"errors": 1}
    text = " ".join(result.stdout.str().split())
    assert "the gate 'tag.smok >= 0.9' names the tag 'smok', which no scenario has" in text
    assert "did you mean 'smoke'?" in text


def test_a_gate_on_a_policy_that_a_rule_measures_is_none(project: Project) -> None:
    """Nothing is refused that some run may measure."""
    project.suite(refund(1), policies=[WORDED], gates=["policy.worded >= 0.9"])
    assert project.run().ret == 0


def test_what_was_proven_before_a_provider_broke_off_fails_the_agent(anywhere: Project) -> None:
    """The broken rule stands on the transcript; the provider's fault is shown beside it."""
    agent = AGENT.replace('return "You are welcome."', "raise_provider()")
    agent += (
        "\n\ndef raise_provider():\n    from pytest_agentbench.core.errors import SendError\n"
        "    raise SendError('the server is gone', status=500)\n"
    )
    anywhere.suite({**refund(1), "says": ["Refund W1", "Thanks"]}, policies=[LOOKS], agent=agent)
    result = anywhere.run("--junitxml=j.xml")
    (one,) = anywhere.document.results
    assert (str(one.verdict), str(one.blame)) == ("failed", "agent"), one
    assert [str(other.blame) for other in one.also] == ["provider"]
    result.stdout.fnmatch_lines(["r1 failed: looks,*", "*blame provider: the server is gone*"])
    junit = (anywhere.pytester.path / "j.xml").read_text()
    assert 'name="agentbench.also" value="provider: the server is gone"' in junit


HALF = """
def get_order(order_id: str) -> dict:
    \"\"\"Look at an order.\"\"\"
    return {"order_id": order_id, "price": 80}


def refund(order_id: str, amount: float) -> str:
    \"\"\"Pay back.\"\"\"
    return "paid"
"""


def test_an_amount_that_nobody_can_reckon_is_in_no_rate_and_says_what_to_give(project: Project) -> None:
    """The tool gives a price and no total: the run is decided by its other parts, and the rule is open, not kept."""
    half = {"calls": ["refund"], "where": {"amount": {"$gt": {"$result": "total", "times": 0.5}}}}
    rule = {"when": {"calls": ["get_order"]}, "then": {"never": half}}
    agent = """
        def build(tools):
            get_order, refund = tools

            def reply(message):
                get_order(order_id="W1")
                refund(order_id="W1", amount=80)
                return "It is paid."

            return reply
    """
    project.suite(
        {"id": "a", "says": ["Refund W1"], "expect": [{"refund": {"order_id": "W1", "amount": 80}}]},
        agent=agent,
        tools=HALF,
        policies=[{"id": "half", "text": "Half at most.", "rule": rule}],
    )

    result = project.run("-v")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*PASSED (1 part –)*",
            "policy (listed)",
            "  half *–*",
            "*policy half, 1 run: refund(*) (get_order gave no total); have get_order",
            "*give total as a number, or name another value in the rule",
        ]
    )
