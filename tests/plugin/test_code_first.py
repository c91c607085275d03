"""Tests that users write: `agentbench.simulate()` and assertions on what it gives."""

import pytest

from pytest_agentbench.cli import main
from tests.plugin.project import ASYNCIO, Project

BARE = """
def build():
    def reply(message):
        if "refund" in message.lower():
            return [
                {"role": "assistant", "tool_calls": [{"name": "refund", "arguments": {"order_id": "W2"}}]},
                {"role": "tool", "content": "ok"},
                {"role": "assistant", "content": "Refunded."},
            ]
        return "Bye."
    return reply
"""


def test_a_marked_test_runs_once_per_fitting_scenario(anywhere: Project) -> None:
    """The mark names a suite relative to the test file and filters its scenarios."""
    anywhere.suite("late", "early", {"id": "other", "says": ["Refund W3"], "tags": ["slow"]})
    anywhere.write(
        "bench/test_shop.py",
        """
        import pytest

        @pytest.mark.agentbench("agentbench.yaml", complexity=1)
        def test_refunds(agentbench):
            run = agentbench.simulate()
            assert run.finished and run.passed
            assert run.called("refund")
            assert run.strict_recall >= 0.9
        """,
    )

    result = anywhere.run("bench/test_shop.py", "-v")

    result.assert_outcomes(passed=2)
    assert set(anywhere.verdicts()) == {"test_refunds[late]", "test_refunds[early]"}


def test_an_agent_and_lines_are_enough(project: Project) -> None:
    """No suite file is needed; the assertion that fails shows the calls that were made, and none of our own lines."""
    project.write("shop.py", BARE)
    project.write(
        "test_shop.py",
        """
        import shop

        def test_refund(agentbench):
            run = agentbench.simulate(agent=shop.build(), says=["Refund W1, please"])
            assert run.called("refund", order_id="W2")
            assert run.called("refund", order_id="W1")

        def test_state(agentbench):
            run = agentbench.simulate(agent=shop.build(), says=["Refund W1, please"])
            assert run.state["orders"] == {}
        """,
    )

    result = project.run("test_shop.py")

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["E *NotMeasuredError: `state` was not measured: *", "test_shop.py:*: NotMeasuredError"]
    )
    result.stdout.fnmatch_lines(
        ['*<not called: refund(order_id="W1"); calls made: refund(order_id="W2")>*', "*Simulation FINISHED, *"]
    )


def test_recall_and_state_are_there_to_be_asserted_on(project: Project) -> None:
    """`expect` gives recall; a test of several conversations keeps each of them."""
    project.write("shop.py", BARE)
    project.write(
        "test_shop.py",
        """
        import shop

        def test_refund(agentbench):
            run = agentbench.simulate(agent=shop.build(), says=["Refund it"], expect=[{"refund": {"order_id": "W1"}}])
            assert (run.name_recall, run.strict_recall) == (1.0, 0.0)
            again = agentbench.simulate(agent=shop.build(), says=["Hello"])
            assert again.reply == "Bye."
        """,
    )

    result = project.run("test_shop.py")

    result.assert_outcomes(passed=1)
    assert [run.key.scenario for run in project.document.results] == ["test_refund", "test_refund-2"]


def test_simulate_async_runs_on_the_tests_own_loop(project: Project) -> None:
    """An async client made in the test works, since the conversation shares its loop."""
    project.write(
        "test_shop.py",
        """
        import asyncio

        async def test_refund(agentbench):
            mine = asyncio.get_running_loop()

            async def reply(message):
                assert asyncio.get_running_loop() is mine
                return "Refunded."

            run = await agentbench.simulate_async(agent=reply, says=["Refund W1"])
            assert run.finished and run.said("refunded")
        """,
    )

    result = project.run("test_shop.py", *ASYNCIO)

    result.assert_outcomes(passed=1)


def test_simulations_stand_outside_the_gates_of_a_suite(project: Project) -> None:
    """A user's own test counts for itself, not for the suite it takes scenarios from."""
    project.suite("late", gates=["success >= 1.0"])
    project.write(
        "bench/test_shop.py",
        """
        import pytest

        @pytest.mark.agentbench("agentbench.yaml")
        def test_refunds(agentbench):
            assert not agentbench.simulate().passed
        """,
    )

    result = project.run()

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*success >= 1.0*1.00*1*ok*"])


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ('"nowhere.yaml"', "*there is no file*nowhere.yaml*"),
        ('"agentbench.yaml", polcy="x"', "*no keyword 'polcy'; allowed: *policy*"),
        ('"agentbench.yaml", scenario="lat"', "*the suite has no scenario 'lat' (did you mean 'late'?)"),
        ('"agentbench.yaml", policy="consent"', "*the suite has no policy 'consent' (there are polite)"),
        ('"agentbench.yaml", variant="bold"', "*the suite has no variant 'bold' (there are none)"),
    ],
)
def test_a_mark_that_leads_nowhere_is_a_collection_error(project: Project, mark: str, message: str) -> None:
    """What is wrong with a mark is said at collection: a scenario that was renamed must not drop out in silence."""
    project.suite("late", policies=[{"id": "polite", "text": "Be polite."}])
    project.write(
        "bench/test_shop.py",
        f"""
        import pytest

        @pytest.mark.agentbench({mark})
        def test_refunds(agentbench):
            pass
        """,
    )

    result = project.run("bench/test_shop.py")

    assert result.ret == 2
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*pytest_agentbench/plugin*")


def test_a_mark_that_no_scenario_fits_skips_its_test(project: Project) -> None:
    """The reason names what was asked for, and what a mistyped tag probably meant."""
    late = {"id": "late", "says": ["Hello"], "tags": ["slow"]}
    project.suite(late, policies=[{"id": "polite", "text": "Be polite."}])
    project.write(
        "bench/test_shop.py",
        """
        import pytest

        @pytest.mark.agentbench("agentbench.yaml", policy="polite")
        def test_refunds(agentbench):
            assert False

        @pytest.mark.agentbench("agentbench.yaml", tag="slw")
        def test_tagged(agentbench):
            assert False
        """,
    )

    result = project.run("bench/test_shop.py", "-rs")

    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(
        [
            "SKIPPED*no scenario of 'agentbench.yaml' fits policy='polite'",
            "SKIPPED*no scenario of 'agentbench.yaml' fits tag='slw' (did you mean 'slow'?)",
        ]
    )


def test_a_failing_test_shows_its_conversation_and_the_file(
    anywhere: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last conversation stands below the assertion, with secrets left out, as that of a suite's item does."""
    anywhere.write(
        "test_shop.py",
        """
        def agent(message):
            return f"You said: {message}"

        def test_parrot(agentbench):
            agentbench.simulate(agent=agent, says=["First try"])
            run = agentbench.simulate(agent=agent, says=["Hello there", "And again"])
            assert run.said("good bye")
        """,
    )

    result = anywhere.run("test_shop.py")
    main(["explain", "test_parrot-2"])

    told = capsys.readouterr().out.rpartition("test_parrot-2 failed: ")[2]
    assert told.startswith("assertion, assert ")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*agentbench conversation*",
            "*2 agent  You said: Hello there",
            "*You said: And again",
            "transcript: .agentbench/runs/*/transcripts/*test_parrot-2*.json",
        ]
    )
    result.stdout.no_fnmatch_line("*said: First try*")


def test_simulate_without_an_agent_says_what_it_needs(project: Project) -> None:
    """Without a suite both agent and lines are needed."""
    project.write("test_shop.py", "def test_refund(agentbench):\n    agentbench.simulate(says=['Hello'])\n")

    result = project.run("test_shop.py")

    result.stdout.fnmatch_lines(["*simulate() without a suite needs `agent=` and `says=`*"])


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("'Hello'", "ValueError: simulate(agent=…): str 'Hello' is no agent*"),
        ("dict", "ValueError: simulate(agent=…): *is no agent*"),
        ("lambda: 'x'", "ValueError: simulate(agent=…): the reply function () takes no message*"),
    ],
)
def test_what_is_no_agent_is_refused_before_a_run(project: Project, agent: str, told: str) -> None:
    """A mistake in the test is told there, and is no crashed run."""
    lines = f"def test_refund(agentbench):\n    agentbench.simulate(agent={agent}, says=['Hello'])\n"
    project.write("test_shop.py", lines)

    result = project.run("test_shop.py")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{told}"])
    result.stdout.no_fnmatch_line("*CRASHED*")


def test_a_failing_test_shows_no_secret(project: Project) -> None:
    """Values of `${VAR}` are not in what pytest shows of the fixture."""
    project.suite("late", context={"key": "${SHOP_KEY}"})
    project.write(
        "bench/test_shop.py",
        """
        import pytest

        @pytest.mark.agentbench("agentbench.yaml")
        def test_refunds(agentbench):
            run = agentbench.simulate()
            assert run.finished and not agentbench
        """,
    )
    project.pytester._monkeypatch.setenv("SHOP_KEY", "planted-secret-42")

    result = project.run("-vv", "-l", "--showlocals")

    result.assert_outcomes(passed=1, failed=1)
    assert "planted-secret" not in result.stdout.str()
