"""Modifiers through pytest: the model gives typed turns, and results and report say which modifiers showed."""

from typing import Any

from pytest_agentbench.core.run import Result
from pytest_agentbench.testing import Answer, ModelRequest, ModelServer, structured, text
from tests.plugin.project import TOOLS, Project

AGENT = """
import re

def build(tools):
    call = {tool.__name__: tool for tool in tools}
    asked = []

    def reply(message):
        order = re.search(r"W[0-9]+", message)
        if order is None:
            return "You are welcome." if asked else "Which order is it?"
        if order[0] not in asked:
            asked.append(order[0])
            return f"Shall I refund {order[0]}?"
        call["refund"](order_id=order[0])
        return "It is refunded."

    return reply
"""


FIND = '''
def find_order(state: dict, mail: str) -> dict:
    """Find the order of a person."""
    return next(order for order in state["orders"].values() if order.get("mail") == mail)
'''


def turn(words: str, *acts: dict[str, Any], **more: Any) -> Answer:
    """Answer with a typed turn."""
    return structured({"text": words, "acts": list(acts) or [{"kind": "inform"}], **more})


def about(request: ModelRequest) -> str:
    """Give the system prompt of the user."""
    return str(request.messages[0]["content"])


def result_of(project: Project, server: ModelServer, *modifiers: Any, **scenario: Any) -> tuple[Result, str]:
    """Play one refund of W1 by a model with these modifiers, and give its result and what the terminal shows."""
    given = {
        "id": "late",
        "goal": "You want order W1 refunded.",
        "expect": [{"refund": {"order_id": "W1"}}],
        "modifiers": list(modifiers),
        **scenario,
    }
    llm = {"model": "user", "base_url": server.base_url}
    project.suite(given, agent=AGENT, tools=f"{TOOLS}\n{FIND}", orders=4, user={"llm": llm})
    shown = project.run().stdout.str()
    (result,) = project.document.results
    return result, shown


def told(result: Result) -> dict[str, tuple[bool | None, str]]:
    """Give what a result says of each modifier."""
    return {
        finding.check.removeprefix("modifier "): (finding.passed, finding.message)
        for finding in result.findings
        if finding.check.startswith("modifier ")
    }


def test_a_wrong_value_of_the_state_is_said_and_put_right(project: Project) -> None:
    """The prompt names another order of the state, the user's facts show both, and the run is the scenario's."""
    turns = iter([1, 2, 3, 4])

    def user(request: ModelRequest) -> Answer:
        wrong = next(one for one in ("W0", "W2", "W3") if one in about(request))
        match next(turns):
            case 1:
                order = {"kind": "request", "facts": [{"name": "order", "value": wrong}]}
                return turn(f"refund {wrong} pls", order)
            case 2:
                order = {"kind": "decline", "facts": [{"name": "order", "value": "W1"}]}
                return turn("no sorry, W1", order, shows=["wrong_value_first"])
            case 3:
                return turn("yes W1", {"kind": "confirm"})
            case _:
                return turn("bye", {"kind": "close"}, stop="done")

    with ModelServer({"user": user}) as server:
        result, _ = result_of(project, server, "wrong_value_first", "impatient")

    assert result.passed, result.findings
    assert told(result)["wrong_value_first"][0] is True
    assert told(result)["impatient"][0] is False


def test_turns_without_labels_are_counted_apart(project: Project) -> None:
    """Of a model that writes plain text nobody knows what it meant: not measured, which the report counts apart."""
    with ModelServer({"user": lambda _: text("Hurry up! Refund W1. I forgot all else.")}) as server:
        result, shown = result_of(project, server, "impatient")

    assert told(result) == {
        "impatient": (None, "the modifier 'impatient' is not measured: turns of the user do not say what it meant")
    }
    assert "modifier impatient  not measured in 1\n" in shown


def test_what_does_not_fit_says_why(project: Project) -> None:
    """A modifier that nothing in the state serves is left out with the reason, and the run goes on without it."""
    with ModelServer({"user": lambda _: turn("Refund W1, yes", {"kind": "request"})}) as server:
        result, _ = result_of(project, server, "changes_mind", "forgets_identifier")

    assert {name: (passed, message.partition("left out: ")[2]) for name, (passed, message) in told(result).items()} == {
        "changes_mind": (None, "nothing shows another option that the record can have"),
        "forgets_identifier": (None, "nothing else that the user knows leads to what it would forget"),
    }


def test_a_forgotten_value_reaches_no_prompt(project: Project) -> None:
    """What is forgotten stands nowhere in what the model is sent, and no mark stands in its place."""
    prompts: list[str] = []

    def user(request: ModelRequest) -> Answer:
        prompts.append(about(request))
        return turn("no idea which order it was", shows=["forgets_identifier"])

    state = {
        "orders": {
            "W1": {"status": "delivered", "mail": "ada@x.test"},
            "W0": {"status": "delivered", "mail": "b@x.test"},
        }
    }
    with ModelServer({"user": user}) as server:
        result, _ = result_of(
            project,
            server,
            {"forgets_identifier": {"which": "order_id"}},
            knows={"mail": "ada@x.test", "order id": "W1"},
            state=state,
        )

    assert told(result)["forgets_identifier"][0] is True
    assert not any("W1" in prompt for prompt in prompts)
    assert "You want order refunded." in prompts[0]
