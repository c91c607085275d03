"""Lines of users that do not say what they mean are named at collection, and nowhere else."""

import pytest

from tests.plugin.project import Project

ASKS = {"id": "asks", "text": "Ask first.", "rule": {"confirm_before": {"calls": ["refund"]}}}


def scenario(name: str, *says: object) -> dict[str, object]:
    """Give a scenario of the suite."""
    return {"id": name, "says": ["Refund W1", *says], "expect": [{"refund": {"order_id": "W1"}}]}


@pytest.mark.parametrize("arguments", [(), ("--co",)])
def test_the_first_are_named_and_the_rest_counted(project: Project, arguments: tuple[str, ...]) -> None:
    """With their place, their words and the acts to choose from; collecting goes on."""
    project.suite(
        scenario("a", *["Fine by me, do that"] * 4), scenario("b", "yes", "Or not", "Or both"), policies=[ASKS]
    )

    result = project.run(*arguments)

    text = result.stdout.str()
    assert "agentbench: lines of users that do not say what they mean (6); a yes or no there is not measured" in text
    assert "not measured, and the user may say yes before such a line" in text
    assert text.count("agentbench.yaml:") >= 5
    assert "'Fine by me, do that'" in text
    assert "'Or not'" in text
    assert "'Or both'" not in text
    assert "… and 1 more (agentbench validate lists them all)" in text
    assert "acts: request, inform, confirm, condition, decline, withdraw, ask, close, other" in text


@pytest.mark.parametrize(("auditor", "left"), [("flags", "left to the auditor"), ("off", "not measured")])
def test_what_they_agree_to_is_left_to_the_auditor_where_there_is_one(
    project: Project, auditor: str, left: str
) -> None:
    """Else it is not measured."""
    judge = {"llm": {"model": "m", "base_url": "http://127.0.0.1:9/v1"}}
    project.suite(scenario("a", "Fine by me, do that"), judge=judge, auditor=auditor, policies=[ASKS])

    assert f"(1); a yes or no there is {left}" in project.run("--co").stdout.str()
    assert "(1); a yes or no there is not measured" in project.run("--co", "-oagentbench_judge=false").stdout.str()


def test_only_runs_that_are_selected_count(project: Project) -> None:
    """Nothing is said where every line has its label."""
    project.suite(
        scenario("plain", "Fine by me"), scenario("labelled", "yes", {"decline": "Rather not"}), policies=[ASKS]
    )

    assert "do not say" not in project.run("-k", "labelled").stdout.str()
    assert "do not say what they mean (1)" in project.run("-k", "plain").stdout.str()
    project.suite(scenario("plain", "Fine by me"))
    assert "do not say" not in project.run().stdout.str()  # no rule asks for a yes


def test_workers_say_it_at_the_end(project: Project) -> None:
    """Nobody sees what workers collect."""
    project.suite(scenario("a", "Fine by me"), scenario("b", "yes"), policies=[ASKS])

    text = project.run("-n1", process="forked").stdout.str()

    assert "agentbench.yaml: lines of users that do not say what they mean (1); agentbench validate lists them" in text
