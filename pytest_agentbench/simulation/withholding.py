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
    nothing, and a yes or no answers what asks for no value.
    """
    wanted = asked(asking)
    if not wanted and pattern("answers").match(answer.strip()) and not _wants_more(asking):
        return False
    if any(kind.endswith("_id") for kind in wanted.kinds) or not wanted:
        asks = bool(wanted) or "?" in asking or bool(pattern("requests").search(asking))
        return (
            asks
            and not (values_in(answer) or shaped_values(answer))
            and not (not wanted and speaks_as_agent(asking, has_tools=True))
        )
    given = shaped_values(answer)
    return not any(kind in given for kind in (*wanted.kinds, *wanted.instead))


def leaves_unanswered(asking: str, answer: str) -> bool:
    """Tell whether `asking` asks for something, and `answer` is nothing but small talk; a yes answers a yes or no."""
    if content(normal(answer)) or values_in(answer):
        return False
    if asked(asking):
        return True
    return bool(_questions(asking)) and not pattern("agreements").match(answer.strip())


def _questions(asking: str) -> list[str]:
    """Give the sentences that ask for something or request it, offers of more left out."""
    return [
        part.text
        for part in segments(asking)
        if (part.question or pattern("requests").search(part.text))
        and not pattern("closers").search(part.text)
        and not speaks_as_agent(part.text, has_tools=True)
    ]


def _wants_more(asking: str) -> bool:
    return any(part.question and pattern("starts_open").match(part.text) for part in segments(asking))
