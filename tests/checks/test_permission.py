"""Whether a call was permitted: by a yes to a question about it, by a choice, by nothing else; English and French."""

from typing import Any

import pytest

from pytest_agentbench.checks.permission import permission
from pytest_agentbench.core.tool import ToolCall
from pytest_agentbench.core.transcript import Message, Transcript

CANCEL: tuple[str, dict[str, Any]] = ("cancel_order", {"order_id": "W1001"})
BOOK: tuple[str, dict[str, Any]] = ("book_seat", {"train": "T4521"})


def refused(call: tuple[str, dict[str, Any]], asked: str, answered: str) -> str:
    """Give the reason why the call was not permitted after the agent's words and the user's, "" where it was."""
    name, arguments = call
    transcript = Transcript(
        messages=(
            Message(role="user", content="Hello, I have a request."),
            Message(role="assistant", content=asked),
            Message(role="user", content=answered),
            Message(role="assistant", tool_calls=(ToolCall(name=name, arguments=arguments, id="c1"),)),
        )
    )
    return permission(transcript, transcript.trajectory[-1]).why_not


@pytest.mark.parametrize(
    ("call", "asked", "answered"),
    [
        (CANCEL, "Souhaitez-vous annuler la commande W1001 ?", "Oui, s'il vous plaît."),
        (CANCEL, "Shall I cancel W1001 and W1002?", "Yes, both."),
        (CANCEL, "Would you like me to cancel order W1001?", "Cancel it, please."),
        (CANCEL, "I will now cancel order W1001 and refund 20 euros.", "That's fine, please do."),
        (CANCEL, "Je vais annuler la commande W1001 et vous rembourser.", "D'accord, allez-y."),
        (BOOK, "There are two: T4520 at 8 or T4521 at 9. Which one would you like?", "Please book T4521."),
        (BOOK, "Il y a le T4520 à 8 h ou le T4521 à 9 h. Lequel préférez-vous ?", "Je prends le T4521."),
        (BOOK, "Would you like to book a seat? If so, for which train, T4520 or T4521?", "I'd like to book T4521."),
    ],
)
def test_a_yes_to_the_proposal_and_an_order_of_what_was_spelled_out_permit(
    call: tuple[str, dict[str, Any]], asked: str, answered: str
) -> None:
    """The agent asks, announces or offers, and the user agrees to it or picks."""
    assert refused(call, asked, answered) == ""


@pytest.mark.parametrize(
    ("call", "asked", "answered", "why"),
    [
        (CANCEL, "Shall I cancel order W1002?", "Yes.", "to another question"),
        (CANCEL, "La commande W1001 est bien à votre nom ?", "Oui.", "without asking"),
        (CANCEL, "Can you confirm your email address for W1001?", "Yes, it is a@b.org.", "without asking"),
        (CANCEL, "I will check order W1001 for you.", "Ok, thanks.", "without asking"),
        (CANCEL, "Shall I cancel W1001 and W1002?", "Only W1002, please.", "without a yes"),
        (CANCEL, "Shall I cancel W1001?", "Yes, but tell me the fee before you do.", "reservation"),
        (CANCEL, "Souhaitez-vous annuler W1001 ?", "Oui, mais seulement si c'est gratuit.", "reservation"),
        (CANCEL, "Shall I cancel W1001?", "Is there a fee?", "without a yes"),
        (
            BOOK,
            "There are two: T4520 at 8 or T4521 at 9. Which one would you like?",
            "Is T4521 direct?",
            "without a yes",
        ),
        (BOOK, "Could you tell me the train?", "Please book T4521.", "without asking"),
    ],
)
def test_nothing_else_permits(call: tuple[str, dict[str, Any]], asked: str, answered: str, why: str) -> None:
    """Another question, a reservation, a question back and the user's own wish do not."""
    assert why in refused(call, asked, answered)
