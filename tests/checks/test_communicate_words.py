"""What must be said may be said in number words, in the language of the scenario."""

from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from pytest_agentbench.checks.answers import is_said as holds
from pytest_agentbench.checks.verdict import judge
from tests.checks.builders import agent, run_of, user
from tests.tables import each


def is_said(info: str, text: str, language: str) -> bool:
    """Whether the run passes."""
    run = run_of(user("How many?"), agent(text), communicate=[info], scenario={"language": language})
    return judge(run).verdict == "passed"


@each(
    ("language", "info", "text"),
    [
        ("en", "21", "There are twenty-one of them."),
        ("en", "205", "That makes Two Hundred and Five euros."),
        ("de", "21", "Es sind einundzwanzig Stück."),
        ("es", "205", "Son doscientos cinco euros."),
        ("fr", "80", "Il y en a quatre-vingts."),
        ("pl", "21", "Jest ich dwadzieścia jeden."),
        ("ru", "205", "Всего двести пять."),
        ("ar", "21", "عددها واحد و عشرون."),
        ("ja", "250", "全部で二百五十です。"),
        ("de", "21", "There are twenty-one of them."),
        ("pt-BR", "12", "São doze."),
        ("en", "21", "It is twenty-one"),
        ("en", "at most 3 guests", "I am sorry, at most three guests are allowed."),
        ("en", "at most three guests", "At most 3 guests are allowed."),
        ("en", "21 of 205 guests", "Twenty-one of two hundred and five guests came."),
        ("de", "höchstens 3 Gäste", "Es dürfen höchstens drei Gäste kommen."),
        ("de", "höchstens drei Gäste", "Es dürfen höchstens 3 Gäste kommen."),
        ("fr", "80 places", "Il reste quatre-vingts places."),
        ("ja", "3人まで", "三人までです。"),
        ("en", "two guests", "On day 3 two guests come."),
        ("en", "a 3-day pass", "That is a three-day pass."),
        ("en", "room 2", "You are in room two - the small one."),
        ("en", "2026-12-08", "It is due on 8 December 2026."),
        ("de", "2026-12-08", "Fällig am 08.12.2026."),
        ("en", "2026-12-08 17:30", "It is due on December 8, 2026 at 5:30 pm."),
    ],
)
def test_a_number_in_words_says_it(language: str, info: str, text: str) -> None:
    """In the scenario's language, or in English."""
    assert is_said(info, text, language)


@each(
    ("language", "info", "text"),
    [
        ("en", "20", "There are twenty-one of them."),
        ("en", "room 2", "You are in room two-and-a-half."),
        ("en", "200", "That makes two hundred and five."),
        ("en", "200", "That makes two hundred thousand."),
        ("en", "200", "That makes one thousand two hundred."),
        ("en", "5", "That makes two hundred five."),
        ("de", "20", "Es sind einundzwanzig Stück."),
        ("es", "200", "Son doscientos cinco euros."),
        ("ru", "20", "Всего двадцать один."),
        ("ja", "200", "全部で千二百です。"),
        ("fr", "21", "Es sind einundzwanzig Stück."),
        ("xx", "21", "Es sind einundzwanzig Stück."),
        ("en", "10", "I often say so."),
        ("en", "5 to gate 7", "Take bus twenty-five to gate seven."),
        ("en", "5 to gate 7", "Take bus five to gate seventy."),
        ("en", "3 guests", "Thirteen guests came, two thousand three guests were asked."),
        ("en", "three guests", "13 guests came."),
        ("en", "are 3", "They are three point five metres."),
        ("en", "1300", "Row 1 three hundred"),
        ("en", "3 guests", "W-3, three, guests"),
        ("en", "1 guest", "No one guest came."),
    ],
)
def test_a_part_of_a_longer_number_or_another_language_does_not(language: str, info: str, text: str) -> None:
    """A number counts as a whole; what num2words cannot spell is not guessed."""
    assert not is_said(info, text, language)


NUMBERS = st.integers(min_value=2, max_value=999)


@given(st.sampled_from(["en", "de", "fr", "es", "pl", "ru", "ja"]), NUMBERS, NUMBERS, st.sampled_from("abc"))
def test_a_phrase_holds_for_its_own_number_alone_in_figures_and_in_words(
    language: str, number: int, other: int, letter: str
) -> None:
    """Whoever writes the figure and whoever the word; another number, or another word beside it, is another phrase."""
    figures, words, strange = (f"(x {one} qq{letter})" for one in (number, num2words(number, lang=language), other))

    assert holds(figures, words, language)
    assert holds(words, figures, language)
    assert holds(strange, words, language) is (other == number)
    assert not holds(figures.replace("qq", "qqq"), words, language)
