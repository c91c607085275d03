"""The agent answers from the notes, cites them, and finds nothing where there is nothing."""

import pytest
from notes.agent import build
from notes.cli import bound_tools
from notes.settings import SettingsError, read_settings
from notes.vault import Vault
from notes_kit import VAULT, agent, failing, talk

BASELINE = {"reading": "full", "planner": False, "memory": False, "reflection": False}
TOOLING = {"planner": False, "memory": False, "reflection": False}


@pytest.mark.parametrize(
    ("question", "answer", "source"),
    [
        ("How long does a cold heap take?", "12 months", "Garden/Composting.md:35"),
        ("Who first described late blight?", "Anton de Bary", "Garden/Tomatoes.md:17"),
        ("How hot does a heap get?", "60 °C", "Garden/Composting.md:26"),
        ("What should I keep out of the compost?", "meat and fish; dairy; diseased plants", "Composting.md:19-22"),
        ("How much did the sardines at Ramiro cost?", "28 euros", "Travel/lisbon.md:5"),
        ("Which toner does the printer need?", "TN-2420", "Travel/Office.md:7"),
        ("How many days until Sungold is ripe?", "Days to ripe: 57", "Garden/Tomatoes.md:9"),
        ("What did I forget last time?", "adapter", "Travel/Packing.md"),
        ("Combien coûte l'installation d'une pompe air-eau ?", "12 000 €", "Pompes à chaleur.md:11"),
        ("Quand l'onduleur doit-il être remplacé ?", "après 12 ans", "Energie/Panneaux.md:7"),
        ("Quelle est la troisième étape du pain au levain ?", "Ajouter le levain et le sel", "Cuisine/Pain.md:14"),
        ("À quelle température cuire la baguette ?", "250 °C", "Cuisine/Baguette.md:12"),
        ("Qui a construit la première pompe à chaleur ?", "Peter von Rittinger", "Pompes à chaleur.md:23"),
    ],
)
def test_a_fact_comes_with_its_note_and_line(question, answer, source):
    """In either language, from prose, lists, tables, and notes without headings."""
    (reply,) = talk(question)

    assert answer in reply
    assert source in reply


@pytest.mark.parametrize("question", ["What is the boiling point of ethanol?", "What is the capital of Mongolia?"])
@pytest.mark.parametrize("variant", [{}, BASELINE, TOOLING], ids=["full", "baseline", "tooling"])
def test_what_no_note_holds_is_not_answered(question, variant):
    """Other words of the question are held by some note, and are no answer."""
    assert talk(question, **variant)[0].startswith("I found nothing about")


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Which takes longer, a hot heap or a cold heap?", ["10 weeks", "12 months", "that of cold heap: 12 months"]),
        ("Compare the height of Roma and Sungold", ["90 cm", "200 cm", "that of Sungold: 200 cm against 90 cm"]),
        ("Who described late blight, and how far apart should tomatoes be planted?", ["Anton de Bary", "60 cm"]),
        ("What does the note that Composting links to say about feeding?", ["twice a week", "worm-bin.md"]),
        ("Summarise my notes on composting", ["Materials: Green material", "Garden/Composting.md:1-35"]),
        ("Which notes mention worms?", ["Garden/worm-bin.md"]),
        ("What is in the folder Garden?", ["3 notes", "Garden/Tomatoes.md"]),
    ],
)
def test_the_planner_takes_a_question_apart(question, parts):
    """Compare, several at once, follow a link, sum up, find, list."""
    (reply,) = talk(question)

    for part in parts:
        assert part in reply


def test_without_the_planner_a_message_is_one_search():
    """Two searches and one section, whatever was asked."""
    one = agent(**TOOLING)

    reply = one.reply("Who described late blight, and how long does a cold heap take?")

    assert [name for name, _ in one.library.calls] == ["search_in_headers", "grep_content", "read_section"]
    assert not ("Anton de Bary" in reply and "12 months" in reply)


def test_reading_full_never_reads_a_section():
    """Every note that is consulted is read whole."""
    one = agent(reading="full")

    assert "12 months" in one.reply("How long does a cold heap take?")
    names = {name for name, _ in one.library.calls}
    assert "read_note" in names
    assert not names & {"read_section", "search_in_headers"}


def test_a_tool_that_fails_is_survived():
    """An exception of a tool is an error text; the agent answers from what is left."""
    build_from = failing("search_in_headers", 99)

    assert "12 months" in build(build_from)("How long does a cold heap take?")["content"]
    given_up = build(failing("grep_content", 99))("How long does a cold heap take?")
    assert given_up["content"].startswith(("I found", "A cold"))


def test_the_same_conversation_gives_the_same_words():
    """No clock, no randomness."""
    lines = ["How long does a cold heap take?", "And a hot heap?", "Are you sure?", "Which notes mention compost?"]

    assert talk(*lines) == talk(*lines)


@pytest.mark.parametrize("message", ["", "?", "\0", "and", "the", "Et ?", "🦀", "a" * 5_000, "Hello", "Merci !"])
@pytest.mark.parametrize("variant", [{}, BASELINE], ids=["full", "baseline"])
def test_any_message_gets_an_answer(message, variant):
    """Also one that asks nothing."""
    for reply in talk(message, message, **variant):
        assert reply.strip()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"planer": True}, "unknown setting 'planer'"),
        ({"reading": "half"}, "reading is 'half'; it must be section or full"),
        ({"rounds": 0}, "rounds is 0; it must be a whole number from 1"),
        ({"threshold": True}, "threshold is True"),
        ({"memory": "no"}, "memory is 'no'; it must be true or false"),
    ],
)
def test_settings_that_cannot_be_are_refused(given, reason):
    """With what is allowed."""
    with pytest.raises(SettingsError, match=reason):
        build(bound_tools(Vault(VAULT)), **given)


def test_settings_come_from_a_file_and_keywords_win(tmp_path):
    """YAML, a mapping."""
    file = tmp_path / "agent.yaml"
    file.write_text("planner: false\nrounds: 2\n", encoding="utf-8")

    settings = read_settings(file, rounds=1)

    assert (settings.planner, settings.rounds) == (False, 1)
    file.write_text("- planner\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="must be a mapping"):
        read_settings(file)
    with pytest.raises(SettingsError, match="cannot be read"):
        read_settings(tmp_path / "none.yaml")


def test_a_message_has_the_figures_of_the_conversation():
    """Tokens and cost grow; the self-score is that of the weakest answer, and where nothing was found there is none."""
    say = build(bound_tools(Vault(VAULT)), price=[2.0, 8.0])

    first, second = say("How long does a cold heap take?"), say("What is the capital of Mongolia?")

    assert (first["role"], first["content"][:11]) == ("assistant", "A cold heap")
    assert 0 < first["metrics"]["tokens"] < second["metrics"]["tokens"]
    assert 0 < first["metrics"]["cost_usd"] < second["metrics"]["cost_usd"]
    assert first["metrics"]["self_score"] == second["metrics"]["self_score"] > 0.7
    assert "self_score" not in build(bound_tools(Vault(VAULT)))("What is the capital of Mongolia?")["metrics"]
    assert set(build(bound_tools(Vault(VAULT)), reflection=False)("Hi")["metrics"]) == {"tokens", "cost_usd"}
