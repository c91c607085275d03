"""Whether a user gives what the agent asks for."""

from pytest_agentbench.simulation.information import content, values_in
from pytest_agentbench.simulation.likeness import normal
from pytest_agentbench.simulation.register import speaks_as_agent
from pytest_agentbench.users.asked import asked
from pytest_agentbench.users.known_info import values_in as shaped_values
from pytest_agentbench.users.phrases import pattern
from pytest_agentbench.users.segments import segments


def withholds(asking: str, answer: str) -> bool:
    """Tell whether `asking` asks for something and `answer`, which its user had said before, holds no value for it.

    Where it is known what kind of value is asked for, the answer is looked through for one; an offer of help asks for
    nothing.
    """
    wanted = asked(asking)
    if any(kind.endswith("_id") for kind in wanted.kinds) or not wanted:
        asks = bool(wanted) or "?" in asking or bool(pattern("requests").search(asking))
        return asks and not values_in(answer) and not (not wanted and speaks_as_agent(asking, has_tools=True))
    given = shaped_values(answer)
    return not any(kind in given for kind in (*wanted.kinds, *wanted.instead))


def leaves_unanswered(asking: str, answer: str) -> bool:
    """Tell whether `asking` asks for more than a yes or no, and `answer` is nothing but small talk."""
    if content(normal(answer)) or values_in(answer):
        return False
    if asked(asking):
        return True
    asks = any(part.question and pattern("wh_requests").search(part.text) for part in segments(asking))
    return asks and not pattern("agreements").match(answer.strip())
