"""The user's own fixtures and other plugins change nothing they should not."""

import pytest

from tests.plugin.project import ASYNCIO, Project

CLEANING = """
import pytest

def tell(line):
    with open("log", "a") as file:
        file.write(line + "\\n")

@pytest.fixture(scope="session", autouse=True)
def database():
    tell("open")
    yield
    tell("close")

@pytest.fixture({scope}autouse=True)
def clean(request, database):
    tell(f"before {{request.node.name}}")
    yield
    tell(f"after {{request.node.name}}")
"""

TELLING = """
import re

def build(tools):
    call = {tool.__name__: tool for tool in tools}

    def reply(message):
        order = re.search(r"W[0-9]+", message)
        if order is None:
            return "You are welcome."
        with open("log", "a") as file:
            file.write(f"agent {order[0]}\\n")
        call["refund"](order_id=order[0])
        return "It is refunded."

    return reply
"""


def test_a_run_stays_between_its_items_own_fixtures(project: Project) -> None:
    """With a function-scoped autouse fixture nothing starts ahead, and the report says why."""
    project.suite("a", "b", agent=TELLING)
    project.write("bench/conftest.py", CLEANING.format(scope=""))

    result = project.run(process="forked")

    lines = (project.pytester.path / "log").read_text().splitlines()
    assert lines == ["open", "before a", "agent W1", "after a", "before b", "agent W2", "after b", "close"]
    result.stdout.fnmatch_lines(["*2 runs one at a time: fixture 'clean' (function-scoped, conftest.py)*"])


@pytest.mark.parametrize("scope", ["class", "module"])
def test_wider_fixtures_are_set_up_around_the_runs(anywhere: Project, scope: str) -> None:
    """Class- and module-scoped autouse fixtures work, since a suite is a module."""
    anywhere.suite("a", "b", agent=TELLING)
    anywhere.write("bench/conftest.py", CLEANING.format(scope=f'scope="{scope}", '))

    result = anywhere.run()

    result.assert_outcomes(passed=2)
    lines = (anywhere.pytester.path / "log").read_text().splitlines()
    assert lines.index("agent W1") > min(index for index, line in enumerate(lines) if line.startswith("before"))


def test_session_fixtures_alone_leave_runs_free_to_start_ahead(project: Project) -> None:
    """With session fixtures only, every conversation is under way before the first one goes on."""
    meeting = '        __import__("meeting").POINT.wait(30)\n        call["refund"]'
    project.write("bench/meeting.py", "import threading\n\nPOINT = threading.Barrier(8)\n")
    project.suite(*"abcdefgh", agent=TELLING.replace('        call["refund"]', meeting))
    project.write("bench/conftest.py", CLEANING.split("@pytest.fixture({scope}", maxsplit=1)[0])

    result = project.run("--agentbench-concurrency=8", process="forked")

    result.assert_outcomes(passed=8)


def test_pytest_asyncio_in_auto_mode_leaves_runs_alone(anywhere: Project) -> None:
    """Runs are ordinary functions to pytest-asyncio, and coroutine tests work beside them."""
    anywhere.suite("a", "b", agent=TELLING.replace("    def reply", "    async def reply"))
    anywhere.write("test_async.py", "import asyncio\n\nasync def test_it():\n    await asyncio.sleep(0)\n")

    result = anywhere.run(*ASYNCIO)

    result.assert_outcomes(passed=3)


def test_pytest_randomly_changes_the_order_and_not_the_results(anywhere: Project) -> None:
    """Whatever the order of execution, results stand in the order of the suite file."""
    anywhere.suite(*"abcdefgh", agent=TELLING)
    anywhere.run()
    expected = anywhere.comparable

    result = anywhere.run("-p", "pytest_randomly", "-p", "no:cacheprovider")

    result.assert_outcomes(passed=8)
    assert anywhere.comparable == expected


def test_pytest_rerunfailures_starts_a_fresh_conversation(anywhere: Project) -> None:
    """A rerun is a new attempt of the same run; both are kept, and reports say which is which."""
    agent = TELLING.replace(
        '        call["refund"](order_id=order[0])',
        '        first = __import__("pathlib").Path("log").read_text().count("agent W2") == 1\n'
        '        call["refund"](order_id="W0" if first and order[0] == "W2" else order[0])',
    )
    anywhere.suite("a", "b", agent=agent)

    result = anywhere.run("-p", "pytest_rerunfailures", "--reruns=1", "--junitxml=junit.xml")

    document = anywhere.document
    assert anywhere.verdicts() == {"a": "passed", "b": "passed"}
    assert [(run.key.scenario, run.key.attempt, run.verdict) for run in document.retried] == [("b", 1, "failed")]
    assert result.ret == 0
    text = (anywhere.pytester.path / "junit.xml").read_text(encoding="utf-8")
    assert text.count('name="agentbench.attempt" value="2"') == text.count("agentbench.attempt") == 1

    anywhere.write("bench/shop_agent.py", "def build():\n    return lambda message: 'Later.'\n")
    again = anywhere.run("-p", "pytest_rerunfailures", "--reruns=1", "bench/agentbench.yaml::a")

    again.stdout.fnmatch_lines(["blame: agent * attempt: 2", "transcript: *a-t1a2-*"])


def test_a_rerun_test_of_ones_own_is_a_new_attempt_too(anywhere: Project) -> None:
    """Its conversations keep their names, and those of the first attempt count nowhere."""
    anywhere.suite()
    anywhere.write(
        "bench/test_own.py",
        """
        TRIED = []

        def test_own(agentbench):
            TRIED.append(1)
            for _ in range(2):
                run = agentbench.simulate(agent=lambda message: "Later." if len(TRIED) == 1 else "Yes.", says=["Now?"])
            assert run.said("yes")
        """,
    )

    result = anywhere.run("-p", "pytest_rerunfailures", "--reruns=1", "bench/test_own.py")

    named = [(run.key.scenario, run.key.attempt) for run in anywhere.document.results]
    assert named == [("test_own", 2), ("test_own-2", 2)]
    assert result.ret == 0


def test_exit_first_cancels_what_is_in_flight(project: Project) -> None:
    """With `-x` no more conversations start than are in flight when the first one fails."""
    agent = TELLING.replace("order_id=order[0]", 'order_id="W0"').replace(
        '        call["refund"]', '        __import__("time").sleep(0.2)\n        call["refund"]'
    )
    project.suite(*[f"s{number:02d}" for number in range(30)], agent=agent)

    result = project.run("-x", "--agentbench-concurrency=4", process="forked")

    assert result.ret == 1
    assert project.line_count("log") <= 8
    result.stdout.fnmatch_lines(["*1 failed*"])
