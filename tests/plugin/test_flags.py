"""What an agent states and has from nowhere, as a session shows it: counted, listed with -v, in every report."""

import json

from tests.plugin.project import Project

LYING = """
def build(tools):
    def reply(message):
        if "W" not in message:
            return "You are welcome."
        tools[-1](order_id="W1")
        return "It is refunded, your receipt is R-7788-X."
    return reply
"""

REFUND = """
def refund(state: dict, order_id: str) -> dict:
    state["orders"][order_id]["status"] = "refunded"
    return state["orders"][order_id]
"""


def test_flags_are_counted_and_shown_and_decide_nothing(project: Project) -> None:
    """The run passes; the summary counts it, `-v` and Markdown say turn, value and words, JSON has them."""
    project.suite("one", agent=LYING, tools=REFUND)
    result = project.run("-v", "--agentbench-markdown", "out.md", "--agentbench-html", "out.html")

    result.assert_outcomes(passed=1)
    [one] = project.document.results
    [flag] = one.flags
    assert (one.passed, flag.turn, flag.value) == (True, 2, "r-7788-x")
    result.stdout.fnmatch_lines(
        ["*1 with flags*", "*stated, and found nowhere*", '*turn 2: r-7788-x, in "It is refunded,*']
    )
    assert "`r-7788-x`" in (project.pytester.path / "out.md").read_text()
    assert "r-7788-x" in (project.pytester.path / "out.html").read_text()


def test_without_verbosity_flags_are_only_counted_and_without_any_not_at_all(project: Project) -> None:
    """A report without flags does not speak of them."""
    project.suite("one", agent=LYING, tools=REFUND)
    project.run().stdout.fnmatch_lines(["*1 with flags*"])
    project.suite("one", agent=LYING.replace(", your receipt is R-7788-X", ""), tools=REFUND)

    result = project.run("-v")

    assert "with flags" not in result.stdout.str()
    assert json.loads((project.pytester.path / ".agentbench" / "results.json").read_text())["results"][0]["flags"] == []


def test_a_flag_names_the_variant_of_its_run(project: Project) -> None:
    """Where there are several, the scenario alone does not tell."""
    build = LYING.replace("def build(tools)", "def build(tools, loud=False)")
    project.suite("one", agent=build, tools=REFUND, variants={"calm": {}, "loud": {"loud": True}})

    result = project.run("-v", "--agentbench-variant=loud")

    result.stdout.fnmatch_lines(["  one[[]loud[]]  turn 2: r-7788-x, in*"])


def test_a_failure_shows_its_flags(project: Project) -> None:
    """They may be why."""
    project.suite("one", agent=LYING.replace('"W1")', '"W2")'), tools=REFUND)

    result = project.run()

    result.stdout.fnmatch_lines(["*stated, and found nowhere*", "*turn 2: r-7788-x*"])


def test_a_value_of_the_suites_policies_is_no_flag(project: Project) -> None:
    """Also of policies that the scenario does not list."""
    policy = {"id": "receipt", "text": "Name the receipt R-7788-X.", "challenge": 1}
    project.suite("one", agent=LYING, tools=REFUND, policies=[policy])
    project.run()

    assert project.document.results[0].flags == ()


def test_number_words_are_those_of_the_suites_language(project: Project) -> None:
    """What must be communicated may be said in words of the suite's language, or of the scenario's own."""
    agent = LYING.replace("It is refunded, your receipt is R-7788-X.", "Das sind einundzwanzig Euro.")
    scenario = {"says": ["Refund W1"], "expect": [{"refund": {"order_id": "W1"}}], "communicate": ["21"]}
    project.suite(
        {"id": "of-the-suite", **scenario}, {"id": "own", "language": "fr", **scenario}, agent=agent, tools=REFUND,
        language="de",
    )  # fmt: skip
    project.run()

    assert project.verdicts() == {"of-the-suite": "passed", "own": "failed"}
