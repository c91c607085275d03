"""What overlapping agents print and log is shown with the run that it belongs to."""

from tests.plugin.project import Project

TALKATIVE = """
import logging, re, time

logger = logging.getLogger("shop")

def build(tools):
    call = {tool.__name__: tool for tool in tools}

    KINDreply(message):
        order = re.search(r"W[0-9]+", message)
        if order is None:
            return "You are welcome."
        for step in range(5):
            print(f"printed {order[0]} {step}")
            logger.warning("logged %s %d", order[0], step)
            WAIT
        call["refund"](order_id="W0" if order[0] in ("W2", "W5") else order[0])
        return "It is refunded."

    return reply
"""

SYNC = TALKATIVE.replace("KIND", "def ").replace("WAIT", "time.sleep(0.02)")
ASYNC = TALKATIVE.replace("KIND", "async def ").replace("WAIT", "await __import__('asyncio').sleep(0.02)")


def sections(text: str) -> dict[str, str]:
    """Give what pytest shows of each failed item, by name."""
    parts = text.split("FAILURES ==")[1].split("agentbench: bench ==", maxsplit=1)[0].split("\n____")
    return {part.strip("_ ").split(" ")[0]: part for part in parts[1:]}


def check(project: Project, agent: str) -> None:
    """Run eight overlapping conversations, two of which fail, and look at what is shown."""
    project.suite(*[f"s{number}" for number in range(1, 9)], agent=agent)

    result = project.run(process="forked")

    text = result.stdout.str()
    shown = sections(text)
    assert set(shown) == {"s2", "s5"}
    for name, order in (("s2", "W2"), ("s5", "W5")):
        mine = [f"printed {order} {step}" for step in range(5)] + [f"logged {order} {step}" for step in range(5)]
        assert all(line in shown[name] for line in mine)
        assert not any(f"printed W{other}" in shown[name] for other in range(1, 9) if f"W{other}" != order)
    assert "printed W1" not in text
    assert "logged W1" not in text


def test_output_of_sync_agents_is_kept_apart(anywhere: Project) -> None:
    """Agents in threads of their own."""
    check(anywhere, SYNC)


def test_output_of_async_agents_is_kept_apart(anywhere: Project) -> None:
    """Agents that share the event loop."""
    check(anywhere, ASYNC)


def test_ordinary_tests_keep_their_own_output(project: Project) -> None:
    """`capsys`, `caplog` and plain capture of other tests see nothing of runs, and all of their own."""
    project.suite("s1", agent=SYNC)
    project.write(
        "bench/test_plain.py",
        """
        import logging

        def test_capture(capsys, caplog):
            print("mine")
            logging.getLogger("mine").warning("mine too")
            assert capsys.readouterr().out == "mine\\n"
            assert [record.getMessage() for record in caplog.records] == ["mine too"]

        def test_failing():
            print("shown")
            assert False
        """,
    )

    result = project.run(process="forked")

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*Captured stdout call*", "shown"])


def test_without_capture_output_is_live_and_conversations_come_one_by_one(project: Project) -> None:
    """With `-s` the user wants to see it as it happens."""
    project.suite("s1", "s2", agent=SYNC)

    result = project.run("-s", process="forked")

    result.stdout.fnmatch_lines(["*concurrency 1 (one at a time because of -s)*", "*printed W1 0*", "*printed W2 0*"])
