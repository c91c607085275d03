"""The suite's clock: tools, factory, context and rules read it, and nobody reads a real one."""

import json
from pathlib import Path

from pytest_agentbench.suites.suite_file import load_suite
from tests.plugin.project import Project

TOOLS = """
from datetime import datetime

def get_day(now: datetime, after: int = 0) -> str:
    \"\"\"Look the day up.\"\"\"
    return f"{now.isoformat()} plus {after}"
"""

AGENT = """
def build(tools, context, now=None):
    (get_day,) = tools

    def reply(message):
        if "bye" in message:
            return "Bye."
        return f"{get_day(after=1)}, factory {now}, context {context}"

    return reply
"""


def said(project: Project) -> str:
    """Give all that the transcripts of the session hold."""
    return "".join(
        path.read_text(encoding="utf-8") for path in sorted((project.pytester.path / ".agentbench").rglob("*.json*"))
    )


def test_the_clock_reaches_tools_factory_and_context(project: Project) -> None:
    """Who declares `now` gets a time with its zone; the context has what it asks for, and its own `now` stays."""
    scenario = {"id": "day", "says": ["Which day?", "bye"], "context": {"until": {"$today": "+2d"}}}
    project.suite(
        scenario,
        agent=AGENT,
        tools=TOOLS,
        now="2026-11-22T10:00+02:00",
        context={"now": "mine", "at": {"$now": "-1h"}},
    )

    project.run().assert_outcomes(passed=1)

    text = said(project)
    assert "2026-11-22T10:00:00+02:00 plus 1, factory 2026-11-22 10:00:00+02:00" in text
    assert "{'now': 'mine', 'at': '2026-11-22T09:00:00+02:00', 'until': '2026-11-24'}" in text


def test_without_the_clock_now_is_an_argument_like_any_other(project: Project) -> None:
    """A tool of an older suite that takes `now` from the agent keeps doing so."""
    agent = AGENT.replace("get_day(after=1)", "get_day(now='2020-01-01T00:00', after=1)")
    project.suite({"id": "day", "says": ["Which day?", "bye"]}, agent=agent, tools=TOOLS)

    project.run().assert_outcomes(passed=1)

    assert "2020-01-01T00:00:00 plus 1, factory None" in said(project)


def test_a_factory_that_needs_the_clock_is_told_which_key_to_add(project: Project) -> None:
    """The suite lacks it, not the agent."""
    agent = AGENT.replace("now=None", "now")
    project.suite({"id": "day", "says": ["Which day?", "bye"]}, agent=agent, tools=TOOLS)

    project.run().stdout.fnmatch_lines(["*requires now, and the suite has no clock; add `now: 2026-11-22T10:00Z`*"])
    assert project.verdicts() == {"day": "error"}


def test_an_agent_cannot_set_the_clock(project: Project) -> None:
    """With a clock of the suite, `now` is none of the tool's arguments."""
    agent = AGENT.replace("get_day(after=1)", "get_day(now='2020-01-01T00:00', after=1)")
    project.suite({"id": "day", "says": ["Which day?", "bye"]}, agent=agent, tools=TOOLS, now="2026-11-22")

    project.run().stdout.fnmatch_lines(["*unknown 'now'*"])


def test_a_function_that_makes_the_context_gets_the_clock(project: Project) -> None:
    """It declares `now` as a tool does."""
    project.write("bench/made.py", "def make(now):\n    return f'made at {now.hour}'\n")
    project.suite(
        {"id": "day", "says": ["Which day?", "bye"]},
        agent=AGENT,
        tools=TOOLS,
        now="2026-11-22T10:00Z",
        context={"make": "made:make"},
    )

    project.run().assert_outcomes(passed=1)

    assert "context made at 10" in said(project)


def test_rules_count_from_the_clock(project: Project) -> None:
    """The same run keeps a rule on one day and breaks it on the next."""
    rule = {"never": {"calls": ["refund"], "where": {"order_id": "W1"}, "result": {"due": {"$lt": {"$today": "0d"}}}}}
    tools = """
    def refund(order_id: str) -> dict:
        \"\"\"Refund an order.\"\"\"
        return {"due": "2026-11-22T08:00Z"}
    """
    verdicts = []
    for day in ("2026-11-22", "2026-11-23"):
        project.suite({"id": "a", "says": ["Refund W1", "bye"]}, tools=tools, now=day, policies=[
            {"id": "due", "text": "Refund nothing that is overdue.", "rule": rule}
        ])  # fmt: skip
        verdicts.append(project.run().parseoutcomes())

    assert verdicts == [{"passed": 1}, {"failed": 1}]


def test_the_clock_is_a_part_of_what_results_are_of(tmp_path: Path) -> None:
    """Another day is another suite; a suite without one keeps the hash that it had."""
    path = tmp_path / "agentbench.yaml"

    def content_hash(**keys: str) -> str:
        path.write_text(json.dumps({"agent": "a:b", "scenarios": [{"id": "a"}], **keys}))
        return load_suite(path, environ={}).content_hash

    assert len({content_hash(), content_hash(now="2026-11-22"), content_hash(now="2026-11-23")}) == 3
