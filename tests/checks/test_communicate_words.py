"""What must be said may be said in number words, in the language of the scenario."""

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
    ],
)
def test_a_number_in_words_says_it(language: str, info: str, text: str) -> None:
    """In the scenario's language, or in English."""
    assert is_said(info, text, language)


@each(
    ("language", "info", "text"),
    [
        ("en", "20", "There are twenty-one of them."),
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
    ],
)
def test_a_part_of_a_longer_number_or_another_language_does_not(language: str, info: str, text: str) -> None:
    """A number counts as a whole; what num2words cannot spell is not guessed."""
    assert not is_said(info, text, language)
