"""Traceability of values: what is reformatted is found, what is made up is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_agentbench.generation.tools.wording.grounding import Grounds, holds_code, names_said
from pytest_agentbench.generation.tools.wording.numerals import numbers_in


def known() -> Grounds:
    """What one result of a tool makes known."""
    grounds = Grounds()
    grounds.add(
        {
            "city": "Saint-Étienne",
            "lat": 48.859,
            "temp": 17.46,
            "date": "2026-03-01",
            "rows": [{"id": "W-104", "cost": 1234.5}] * 3,
        }
    )
    return grounds


@pytest.mark.parametrize(
    "text",
    [
        "It is 17.5 degrees in Saint-Etienne on March 1.",
        "Il fait 17,46 °C à Saint-Étienne le 1er mars 2026.",
        "Order W-104 costs 1,234.50.",
        "I found 3 rows.",
        "It is about 17 degrees on 01/03/2026.",
        'For "Saint-Étienne" it is 17.46°C.',
        "La latitude est de 48,859, mesurée le 1er mars. La suite est inconnue.",
        "It was warm on 1 Mar. Sunny days follow, until 1 Mar. 2026.",
    ],
)
def test_reformatted_values_are_traced(text: str) -> None:
    """Rounding, dates in words, thousands, decimals behind a comma, accents and units change nothing."""
    assert known().unknown(text) == []


@pytest.mark.parametrize(
    ("text", "invented"),
    [
        ("It is 18.2 degrees there.", "18.2"),
        ("It rains in Lyon today.", "Lyon"),
        ("Order W-105 is late.", "W-105"),
        ("le 2 mars 2026", "2"),
        ("à la latitude 48,860", "48,860"),
        ("on 02/03/2026", "02/03/2026"),
        ("There are 4 rows.", "4"),
        ("Write to ada@example.com.", "ada@example.com"),
        ('The city is called "Grand Harbour".', "Grand Harbour"),
    ],
)
def test_invented_values_are_named(text: str, invented: str) -> None:
    """Another number, name, code, date, address or quotation is not known."""
    assert invented in known().unknown(text)


def timed() -> Grounds:
    """What a result with moments, and a description with a number in words, make known."""
    grounds = Grounds()
    grounds.add({"issued": "2026-03-16T13:00:00+00:00", "start": 1_773_640_800, "level": 14})
    grounds.add("The weather of the next 15 days, three hours ahead from 06:30, valid until 17 March 2026")
    return grounds


@pytest.mark.parametrize(
    "text",
    [
        "The 15-day forecast, please.",
        "les prévisions à 15-jours",
        "It was issued at 13:00, at 1 pm, at 1:00 p.m.",
        "Publié à 13 h, 13h00, 13 h 00.",
        "From 2026-03-16T13:00 or T13:00:00+00:00 on.",
        "The next 3 hours from 6:30 on.",
        "Level fourteen, niveau quatorze.",
        "On Monday, March 16, until the 17th of March.",
        "lundi 16 mars 2026 à 13 h, jusqu'au 17 mars",
        "It starts on 16 March at 06:00, at six o'clock.",
        "until 17/03/2026",
    ],
)
def test_moments_and_numbers_in_words_are_traced(text: str) -> None:
    """Times of day, dates in both languages, seconds since 1970, numbers in words and before hyphens."""
    assert timed().unknown(text) == []


@pytest.mark.parametrize(
    ("text", "invented"),
    [
        ("It starts at 14:45.", "14:45"),
        ("a 16-day view", "16-day"),
        ("thirty-two of them", "thirty-two"),
        ("quatre-vingt-douze degrés", "quatre-vingt-douze"),
        ("on March 18", "18"),
        ("le 18 mars", "18"),
    ],
)
def test_other_moments_and_numbers_in_words_are_not(text: str, invented: str) -> None:
    """Another time, another day, another number."""
    assert invented in timed().unknown(text)


def test_every_number_below_a_hundred_is_read_in_both_languages() -> None:
    """The words of a number are the number, written together or apart."""
    for number in range(100):
        assert [value for _, value in numbers_in(f"there are {_english(number)} of them")] == [number]
        assert [value for _, value in numbers_in(f"il y en a {_french(number)}")] == [number]


def _english(number: int) -> str:
    names = words_of(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen"
    )
    tens = words_of("twenty thirty forty fifty sixty seventy eighty ninety")
    if number < 20:
        return names[number]
    return tens[number // 10 - 2] + (f" {names[number % 10]}" if number % 10 else "")


def _french(number: int) -> str:
    names = words_of(
        "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
        "dix-huit dix-neuf"
    )
    tens = words_of("vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt")
    if number < 20:
        return names[number]
    name, rest = tens[number // 10 - 2], number % 10 + 10 * (number // 10 in (7, 9))
    if number == 80:
        return "quatre-vingts"
    if not rest:
        return name
    return f"{name} et {names[rest]}" if rest in (1, 11) and number < 80 else f"{name}-{names[rest]}"


def words_of(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


@given(st.floats(1, 1e6), st.integers(0, 3))
def test_any_rounding_of_a_number_is_traced(number: float, decimals: int) -> None:
    """A number rounded to fewer decimals is the same number."""
    grounds = Grounds()
    grounds.add({"value": number + 0.1234567})

    assert grounds.unknown(f"It is {number + 0.1234567:.{decimals}f}.") == []


def test_names_of_tools_and_code_are_told_from_words() -> None:
    """`get_order` and `orderId` are of programs, `city` is a word unless it is called."""
    assert names_said("use get_order with orderId in the city", ["get_order", "orderId", "city"]) == [
        "get_order",
        "orderId",
    ]
    assert names_said("city(Paris)", ["city"]) == ["city"]
    assert holds_code('{"city": 1}')
    assert holds_code("search(q=1)")
    assert not holds_code("look it up (order id: W1)")
