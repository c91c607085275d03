"""`agentbench explain`: one run of a session in words and as JSON."""

import json
from pathlib import Path

import pytest

from pytest_agentbench.cli import main
from tests.plugin.project import Project
from tests.plugin.test_gates import ONE_WRONG


@pytest.fixture
def session(pytester: pytest.Pytester) -> Path:
    """The folder of a session of three runs, the second of which failed."""
    project = Project(pytester=pytester)
    project.suite("a", "late", "c-d03", agent=ONE_WRONG)
    project.run()
    return pytester.path


def test_a_failed_run_is_told_as_pytest_tells_it(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was expected, what was called, the conversation, where it is, and how to play it again."""
    status = main(["explain", "late"])

    text = capsys.readouterr().out
    assert status == 1
    assert text.startswith("late failed")
    for part in (
        "expected",
        "user   Refund W2",
        "transcript: ",
        "rerun: pytest --agentbench bench/agentbench.yaml::late -vv",
    ):
        assert part in text


@pytest.mark.parametrize(("name", "full"), [("bench/agentbench.yaml::a", "a"), ("d03", "c-d03")])
def test_a_passed_run_shows_its_conversation(
    session: Path, capsys: pytest.CaptureFixture[str], name: str, full: str
) -> None:
    """There is nothing to explain but what happened; the end of a name is enough."""
    status = main(["explain", name])

    text = capsys.readouterr().out
    assert status == 0
    assert text.startswith(f"bench/agentbench.yaml::{full} passed")
    assert "user   Refund W" in text


def test_without_a_name_every_failed_run_is_named(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line each."""
    status = main(["explain"])

    lines = capsys.readouterr().out.splitlines()
    assert status == 1
    assert lines[0] == "1 of 3 runs did not pass"
    assert lines[1].startswith("late failed")


def test_json_holds_all_of_it(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program gets verdict, blame, findings, conversation, file and command."""
    main(["explain", "--json", "late"])
    one = json.loads(capsys.readouterr().out)
    main(["explain", "--json"])
    every = json.loads(capsys.readouterr().out)

    assert (one["run"], one["verdict"], one["blame"]) == ("bench/agentbench.yaml::late", "failed", "agent")
    assert [message["role"] for message in one["conversation"]][:1] == ["user"]
    assert any(finding.get("passed") is False for finding in one["result"]["findings"])
    assert Path(one["transcript"]).is_file()
    assert every["runs"] == 3
    assert [run["run"] for run in every["not_passed"]] == ["bench/agentbench.yaml::late"]


def test_simulations_of_one_test_are_told_apart(pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    """They share its node id; each has the name that the report gives it."""
    project = Project(pytester=pytester)
    project.write(
        "test_shop.py",
        """
        def reply(message):
            return f"You said: {message}"

        def test_it(agentbench):
            agentbench.simulate(agent=reply, says=["Hi one"], communicate=["12345"])
            agentbench.simulate(agent=reply, says=["Hi two"])
            raise AssertionError
        """,
    )
    project.run("test_shop.py")
    capsys.readouterr()

    main(["explain"])
    assert [line.partition(" ")[0] for line in capsys.readouterr().out.splitlines()[1:]] == ["test_it", "test_it-2"]
    for name, said in (("test_it", "Hi one"), ("test_it-2", "Hi two")):
        main(["explain", name])
        assert f"user   {said}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "message"),
    [("lat", "no run is named 'lat' (did you mean 'late'?)"), ("nothing", "(there are a, late, c-d03)")],
)
def test_a_name_that_no_run_has_is_an_error(
    session: Path, capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    """What was probably meant is said."""
    assert main(["explain", name]) == 2
    assert message in capsys.readouterr().err


def test_help_names_everyday_commands_first_and_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Research commands stand apart."""
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert text.index("init") < text.index("explain") < text.index("research") < text.index("parity")

    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("agentbench 0.")
