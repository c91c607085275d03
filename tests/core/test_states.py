"""Whether a text states a known value, in whatever spelling of it code can make."""

from pytest_agentbench.core.spoken import states
from tests.tables import each


@each(
    ("value", "text", "locale"),
    [
        ("W1", "Shall I refund **w1**?", "en"),
        ("W1", "注文W1を返金しますか", "ja"),
        (45, "That is forty-five euros.", "en"),
        (45, "Das macht fünfundvierzig Euro.", "de"),
        (45, "Der Preis: 45,00 €", "de"),
        (1628, "1.628,00 EUR", "de"),
        (45, "المبلغ ٤٥", "ar"),
        (12.5, "12,50 €", "fr"),
        ("store_credit", "as store credit?", "en"),
        ("2024-05-06", "on May 6", "en"),
        ("2024-05-06", "am 6. Mai 2024", "de"),
        ("2024-05-06", "le 6 mai", "fr"),
        ("2024-05-06", "5月6日に", "ja"),
        ("14:30", "at 2:30 PM", "en"),
        ("2024-05-06T14:30:00", "on 6 May at 14:30", "en"),
    ],
)
def test_a_value_is_stated_in_many_ways(value: object, text: str, locale: str) -> None:
    """Figures and words, dates as a language writes them, names of values with spaces."""
    assert states(value, text, locale)


@each(
    ("value", "text"),
    [
        ("W1", "W12"), ("W1", "AW1"), (54, "W54"), (54, "54.04"), (54, "154"), (2024, "2024-05-06"),
        (True, "true"), (None, "None"), ("", "anything"), (1, "which one"), ("2024-02-31", "31 February"),
        ("art", "the party starts"), ("2024-05-06T14:30:00", "on 6 May"),
        ("1 hour", "11 hours"), ("1 hour", "1.1 hours"), ("1 hour", "1 house"),
        ("2 car", "2 cards"), ("2 cards", "2 car"), ("2 car", "2 card"), ("4 pen", "4 pence"), ("3 m", "3 ms"),
    ],
)  # fmt: skip
def test_what_is_part_of_another_word_or_number_is_not_stated(value: object, text: str) -> None:
    """No longer number, no longer word, no pronoun; a yes or no has no spelling."""
    assert not states(value, text)
