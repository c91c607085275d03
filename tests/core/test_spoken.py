"""What counts as having said something."""

from pytest_agentbench.checks.answers import check_communicate
from pytest_agentbench.core.spoken import counts, says
from pytest_agentbench.tau2.reward import tau2_said
from tests.checks.builders import agent, run_of, user
from tests.tables import each


@each(
    ("info", "text", "said"),
    [
        ("54", "You pay $54.", True),
        ("54", "You pay $154", False),
        ("54", "You pay $54.04", False),
        ("54", "You pay 3.54", False),
        ("54", "You pay **$54.00** now", True),
        ("54.04", "Vous payez 54,04 €", True),
        ("54,04", "You pay $54.04", True),
        ("1628", "The total is $1,628.", True),
        ("1,628", "The total is $1628", True),
        ("1628", "Le total est de 1\u202f628,00 €", True),
        ("1628.5", "Gesamt: 1.628,50 EUR", True),
        ("628", "The total is $1,628", False),
        ("328", "USD328 will be refunded", True),
        ("54", "order W54 is on its way", False),
        ("W1", "order W12 is on its way", False),
        ("remboursé sous 5 jours", "Il sera  REMBOURSE sous 5 jours.", True),
        ("it's done", "It’s done!", True),
        ("order W1 shipped", "Order `W1`\nshipped", True),
        ("120", "Sizes:\n90\n120\n298", True),
        ("90120", "90\n120", False),
        ("", "anything", True),
        ("yes", "no", False),
    ],
)
def test_spelling_does_not_matter_and_numbers_are_whole(info: str, text: str, said: bool) -> None:
    """Accents, quotes, spaces, markup and separators are normalised; a number is never part of another."""
    assert says(info, text) is said


def test_tau2_drops_commas_from_the_text_only() -> None:
    """τ²'s rule is kept exactly: a substring, commas dropped from the message alone."""
    assert tau2_said("54", ["it costs $1,54"])
    assert tau2_said("1628", ["", "The total is $1,628"])
    assert not tau2_said("1,628", ["The total is $1,628"])


def test_every_info_is_reported_and_only_the_agent_counts() -> None:
    """The user saying it is not the agent saying it."""
    run = run_of(user("it is 42 and 7"), agent("It is 42."), communicate=["42", "7"])
    found = list(check_communicate(run))
    assert [(finding.passed, finding.message) for finding in found] == [
        (True, "the agent said '42'"),
        (False, "the agent never said '7'"),
    ]


@each(
    ("number", "unit", "text", "language", "counted"),
    [
        (1, "months", "For one more month, please.", "en", True),
        (1, "number of months", "A one-month rental", "en", True),
        (1, "mois", "Encore un mois", "fr", True),
        (1, "weeks", "One month", "en", False),
        (1, "months", "I keep that one. Months ago I had two.", "en", False),
        (1, "months", "Twenty-one months", "en", False),
        (21, "months", "Twenty-one months", "en", True),
        (0, "months", "Zero months", "en", False),
        (True, "months", "One month", "en", False),
        (1, "", "One month", "en", False),
    ],
)
def test_a_number_in_words_counts_from_one_on_where_its_unit_stands_beside(
    number: int, unit: str, text: str, language: str, *, counted: bool
) -> None:
    """One is as often a pronoun elsewhere."""
    assert counts(number, unit, text, language) is counted
